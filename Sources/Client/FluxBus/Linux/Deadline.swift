#if canImport(Glibc)
    /// A moment by which something must have happened, or never.
    public struct Deadline: Sendable {
        private let instant: ContinuousClock.Instant?

        public static let never = Deadline(instant: nil)

        private init(instant: ContinuousClock.Instant?) { self.instant = instant }

        /// The moment `duration` from now; nil means never.
        public init(after duration: Duration?) {
            self.init(instant: duration.map { ContinuousClock.now + $0 })
        }

        public var hasPassed: Bool { instant.map { ContinuousClock.now >= $0 } ?? false }

        /// The earlier of two moments.
        public func earlier(_ other: Deadline) -> Deadline {
            guard let mine = instant else { return other }
            guard let theirs = other.instant else { return self }
            return Deadline(instant: min(mine, theirs))
        }

        /// The end of the first of several attempts, which share the time left equally. Without a deadline, an attempt that
        /// others follow has ten seconds.
        func share(of attempts: Int) -> Deadline {
            guard attempts > 1 else { return self }
            guard let instant else { return Deadline(after: .seconds(10)) }
            return Deadline(after: max(.zero, ContinuousClock.now.duration(to: instant)) / attempts)
        }

        /// The remaining time in the form of `poll`: milliseconds rounded up, -1 for never.
        package var pollTimeout: Int32 {
            guard let instant else { return -1 }
            let left = ContinuousClock.now.duration(to: instant)
            if left <= .zero { return 0 }
            let (seconds, attoseconds) = left.components
            guard seconds < Int64(Int32.max / 1000) - 1 else { return Int32.max }
            return Int32(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
        }
    }
#endif
