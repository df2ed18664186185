/// Messages to the manager (sd_notify(3)), as values.
extension Notifier {
    /// One message to the manager: a line `NAME=value` of a notification. Several can be sent together.
    public struct Message: Sendable, Hashable {
        let name: String
        private let value: String
        /// It is about this moment only: a newer one replaces it.
        private(set) var isOfTheMoment = false

        /// The line, without its end.
        public var line: String { "\(name)=\(value)" }

        /// Anything that systemd understands and that has no name here; `value` is put on one line.
        public init(_ name: String, _ value: String) {
            // A line's end would begin another message.
            let flat = value.utf8.contains { $0 < 0x20 }
            self.name = name
            self.value =
                flat ? String(value.unicodeScalars.map { $0.value < 0x20 ? " " : Character($0) }) : value
        }

        private static func ofTheMoment(_ name: String, _ value: String) -> Message {
            var message = Message(name, value)
            message.isOfTheMoment = true
            return message
        }

        /// The service is up (or has reloaded). Units that wait for it continue.
        public static let ready = Message("READY", "1")
        /// The service is about to end.
        public static let stopping = Message("STOPPING", "1")
        /// Feeds the watchdog: the service is alive.
        public static let watchdog = ofTheMoment("WATCHDOG", "1")
        /// Asks to be treated as one that missed its watchdog: the service found out itself that it is broken.
        public static let watchdogTrigger = Message("WATCHDOG", "trigger")

        /// What the service is doing, for people: `systemctl status` shows it.
        public static func status(_ text: String) -> Message { ofTheMoment("STATUS", text) }

        /// Asks for more time to start, reload or stop: counted from now, and only while the manager waits.
        public static func extendTimeout(_ time: Duration) -> Message {
            ofTheMoment("EXTEND_TIMEOUT_USEC", String(time.microseconds))
        }

        /// Changes the time within which the watchdog wants to be fed.
        public static func watchdogInterval(_ time: Duration) -> Message {
            Message("WATCHDOG_USEC", String(time.microseconds))
        }

        /// The service's main process is another one.
        public static func mainProcess(_ identifier: Int32) -> Message {
            Message("MAINPID", String(identifier))
        }

        /// Why the service fails: an `errno`.
        public static func errorNumber(_ number: Int32) -> Message { Message("ERRNO", String(number)) }

        /// The exit status that the service is about to have.
        public static func exitStatus(_ status: Int32) -> Message {
            Message("EXIT_STATUS", String(status))
        }
    }
}
