/// How often a bus has asked the kernel on behalf of its connections. On a busy bus most of what a commit costs is such
/// calls, so tests count them where a clock would only say how busy the machine is.
///
/// A plain number that the bus queue alone counts up: it costs a commit nothing that could be measured.
package struct SystemCallCount: Sendable, Equatable {
    /// Reading from connections.
    package internal(set) var receive = 0
    /// Writing to connections.
    package internal(set) var send = 0
    /// Asking which sockets are ready.
    package internal(set) var poll = 0
    /// Changing what is waited for.
    package internal(set) var control = 0

    /// All of them.
    package var total: Int { receive + send + poll + control }

    package static func - (left: SystemCallCount, right: SystemCallCount) -> SystemCallCount {
        var result = left
        result.receive -= right.receive
        result.send -= right.send
        result.poll -= right.poll
        result.control -= right.control
        return result
    }
}
