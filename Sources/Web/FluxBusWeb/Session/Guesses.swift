import FluxBus
import Synchronization

/// Wrong tokens and signatures, counted by where they come from, so that nobody keeps out those elsewhere. Beyond so many addresses,
/// others are counted together.
package final class Guesses: Sendable {
    /// There were too many.
    package struct TooMany: Error {
        /// How long no other one is looked at.
        package let seconds: Int

        var sentence: String { "There were too many wrong tokens; try again in \(seconds) s." }
    }

    /// A token that is looked at.
    package struct Guess: Sendable {
        fileprivate let digest: [UInt8]
        /// Where and when it was counted; nil: it was right before.
        fileprivate let counted: (place: String, time: Int)?
    }

    private typealias Outcome = Result<Guess, TooMany>

    /// Guesses from one place.
    private struct Place {
        var limit = AttemptLimit()
        /// How many are looked at, which count as wrong until that is over.
        var pending = 0
        /// Those for which there is no room before; the oldest first.
        var waiting: [(digest: [UInt8], turn: CheckedContinuation<Outcome, Never>)] = []

        /// What comes of the oldest one now; nil: it depends on those that are looked at.
        mutating func next(_ name: String, now: Int) -> Outcome? {
            guard let digest = waiting.first?.digest else { return nil }
            if let seconds = limit.wait(now: now) {
                return pending > 0 ? nil : .failure(TooMany(seconds: seconds))
            }
            limit.addWrong(now: now)
            pending += 1
            return .success(Guess(digest: digest, counted: (name, now)))
        }
    }

    private struct State {
        var places: [String: Place] = [:]
        /// Digests of tokens that were right.
        var known: Set<[UInt8]> = []

        /// Under which name guesses from an address are counted.
        mutating func place(of address: String?, now: Int) -> String {
            let host = address.map { String($0[..<($0.lastIndex(of: ":") ?? $0.endIndex)]) } ?? ""
            guard places[host] == nil, places.count >= mostPlaces else { return host }
            places = places.filter {
                $0.value.pending > 0 || !$0.value.waiting.isEmpty || !$0.value.limit.isEmpty(now: now)
            }
            return places.count < mostPlaces ? host : others
        }

        /// Whose turn it is at a place, and what comes of it.
        mutating func proceed(
            at name: String, now: Int
        ) -> (CheckedContinuation<Outcome, Never>, Outcome)? {
            guard let outcome = places[name]?.next(name, now: now),
                let turn = places[name]?.waiting.removeFirst().turn
            else { return nil }
            return (turn, outcome)
        }
    }

    private static let mostKnown = 1000
    /// Addresses that are counted separately. Some networks have millions; the rest is counted together.
    private static let mostPlaces = 100
    private static let others = "others"

    private let state = Mutex(State())
    private let now: @Sendable () -> Int

    /// - Parameter now: Seconds since 1970.
    package init(now: @escaping @Sendable () -> Int) { self.now = now }

    /// Counts a token before it is looked at, so that many at a time are no more than many in a row. While
    /// others are looked at that might be right, it waits for them. One that was right before is no guess.
    ///
    /// - Parameter address: The client's, with its port.
    package func begin(_ token: String, from address: String?) async throws(TooMany) -> Guess {
        let digest = Self.digest(token)
        return try await withCheckedContinuation { (turn: CheckedContinuation<Outcome, Never>) in
            let time = now()
            let name: String? = state.withLock { state in
                if state.known.contains(digest) { return nil }
                let name = state.place(of: address, now: time)
                state.places[name, default: Place()].waiting.append((digest, turn))
                return name
            }
            if let name { return proceed(at: name, now: time) }
            turn.resume(returning: .success(Guess(digest: digest, counted: nil)))
        }.get()
    }

    /// Only one that the bus refuses stays counted.
    package func end(_ guess: Guess, _ code: BusError.Code?) {
        let name: String? = state.withLock { state in
            if code == .unauthorized { state.known.remove(guess.digest) }
            guard let (name, time) = guess.counted else { return nil }
            if code != .unauthorized { state.places[name]?.limit.takeBack(time) }
            state.places[name]?.pending -= 1
            return name
        }
        if let name { proceed(at: name, now: now()) }
    }

    private func proceed(at name: String, now: Int) {
        while let (turn, outcome) = state.withLock({ $0.proceed(at: name, now: now) }) {
            turn.resume(returning: outcome)
        }
    }

    /// Counts what is known to be wrong already.
    package func addWrong(from address: String?) throws(TooMany) {
        let time = now()
        let wait = state.withLock { state -> Int? in
            let name = state.place(of: address, now: time)
            if let wait = state.places[name]?.limit.wait(now: time) { return wait }
            state.places[name, default: Place()].limit.addWrong(now: time)
            return nil
        }
        if let wait { throw TooMany(seconds: wait) }
    }

    /// The bus has taken this token.
    package func addRight(_ token: String) {
        state.withLock { state in
            if state.known.count >= Self.mostKnown { state.known = [] }
            state.known.insert(Self.digest(token))
        }
    }

    private static func digest(_ token: String) -> [UInt8] {
        Array(token.utf8).withUnsafeBytes(Secret.hash)
    }
}
