import BusEngine
import BusProtocol
import Dispatch

/// The end: no client is accepted any more, all get a goodbye, their output is written, then everything is closed.
extension EventLoop {
    /// Sends a goodbye to all connections. `done` is called on the queue once the last one is closed, at the latest
    /// when the time for goodbyes is over.
    ///
    /// - Parameter keepsListening: Whoever connects from now on waits, for another loop.
    func stop(
        _ code: GoodbyeCode, _ message: String, keepsListening: Bool = false, done: @escaping () -> Void
    ) {
        guard whenEmpty == nil else { return }
        for listener in acceptors.compactMap(\.listener) {
            // One that the service manager has passed is open there, too, so that closing it does not take it out.
            poller.remove(listener.descriptor, &calls)
            if !keepsListening { listener.close() }
        }
        beginTurn()
        admitStrangers()
        acceptors = []
        deadlines.acceptAgain = nil
        whenEmpty = done
        for id in connections.ids { endUnlessEnding(id, code, message) }
        flush(all: true)
        armTimer()
        callWhenEmpty()
    }

    /// Closes what is still open, without waiting for clients.
    func closeAll() {
        beginTurn()
        for id in connections.ids { close(id, .goodbyeTimedOut) }
    }

    /// Calls `whenEmpty` once there are no connections, after the turn that closed the last one.
    func callWhenEmpty() {
        guard connections.count == 0, let done = whenEmpty else { return }
        whenEmpty = {}
        done()
    }
}
