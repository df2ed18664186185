/// The number of system calls that a bus has made for its connections. On a busy bus they are most of what a commit
/// costs, so tests count them where a clock would only say how busy the machine is.
///
/// A plain number that only the bus queue counts up: its cost for a commit can't be measured.
package struct SystemCallCount: Sendable, Equatable {
    /// Reading from connections.
    package internal(set) var receive = 0
    /// Writing to connections.
    package internal(set) var send = 0
    /// Polling for ready sockets.
    package internal(set) var poll = 0
    /// Changing the events waited for.
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
