/// What carries the bytes of one bus and gives its ``BusDriver`` the turns it needs. Everything else in this library knows no
/// socket, thread or descriptor.
///
/// A transport has one place, a thread or a serial queue, where it makes every call to the driver. Each turn there:
///
/// 1. ``BusDriver/turn(unsent:)``. If the driver has ended, let go of the connection, call ``BusDriver/end()``, and stop.
/// 2. Without a connection: open one to the addresses of ``BusDriver/beginConnecting()``, if it returns any, and say how that
///    went. Turns go on meanwhile.
/// 3. With one: have the driver write, send what fits, and pass it the lines that have come. A connection that fails, or that the
///    driver does not want any more (``BusDriver/disconnectReason``), is closed and reported as lost.
/// 4. Wait for bytes, for ``wake()``, or for the moment ``BusDriver/nextTurn()``. Each of them begins another turn.
package protocol Transport: Sendable {
    /// Makes the driver in the transport's place and runs it there until it has ended. Called once; does not wait.
    ///
    /// - Parameter name: What tools may show of it.
    func run(named name: String, _ makeDriver: @escaping @Sendable () -> BusDriver) throws(BusError)

    /// Causes a turn: called on any thread when a driver that waits has work.
    func wake()
}
