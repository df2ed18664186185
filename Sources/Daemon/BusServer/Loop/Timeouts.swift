/// How long clients are given before the daemon ends their connections, in milliseconds.
package struct Timeouts: Sendable {
    /// For a TCP client to say hello: anybody on this machine can connect, so silence must not cost a connection
    /// for ever.
    package var hello = 10_000
    /// For a client to take a goodbye and what stands before it.
    package var goodbye = 5_000

    package init() {}
}
