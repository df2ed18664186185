#if canImport(Glibc)
    import Glibc

    /// How a connection attempt waits: for a descriptor, up to a deadline, while its owner's other duties continue.
    ///
    /// Without an owner it just waits. With one, `turn` is called before each wait, which a signal on `wakeUp` ends; so a
    /// host that does not answer holds up neither time-outs nor the end of a bus.
    struct ConnectWait {
        enum Outcome {
            case ready
            /// Nothing yet: look again.
            case again
            /// The time is over, or the connection is not wanted any more.
            case over
        }

        let deadline: Deadline
        private let wakeUp: Int32
        private let turn: () -> Deadline?

        init(until deadline: Deadline) {
            self.init(until: deadline, wakeUp: -1) { .never }
        }

        /// `turn` returns how long a wait may be; nil gives the attempt up.
        init(until deadline: Deadline, wakeUp: Int32, turn: @escaping () -> Deadline?) {
            self.deadline = deadline
            self.wakeUp = wakeUp
            self.turn = turn
        }

        /// The wait of the first of several attempts, which share the time.
        func share(of attempts: Int) -> ConnectWait {
            ConnectWait(until: deadline.share(of: attempts), wakeUp: wakeUp, turn: turn)
        }

        /// Whether there is no time for another attempt, or it is not wanted.
        var isOver: Bool { deadline.hasPassed || turn() == nil }

        /// Waits once. Where there is no descriptor to wait for, -1 checks again after two milliseconds.
        func pause(for descriptor: Int32, _ events: Int16) -> Outcome {
            guard !deadline.hasPassed, let most = turn() else { return .over }
            var until = deadline.earlier(most)
            if descriptor < 0 { until = until.earlier(Deadline(after: .milliseconds(2))) }
            var entries = [
                pollfd(fd: descriptor, events: events, revents: 0),
                pollfd(fd: wakeUp, events: Int16(POLLIN), revents: 0),
            ]
            _ = poll(&entries, nfds_t(entries.count), until.pollTimeout)
            return entries[0].revents != 0 ? .ready : .again
        }
    }
#endif
