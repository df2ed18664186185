/// Connections that break, for tests of what clients do then.
extension BusServer {
    /// Closes every connection without a goodbye: what clients have sent and nobody has read yet is lost, and so are answers
    /// and events that were not written. Clients may connect again at once. `done` is called when all are closed.
    package func cut(_ done: @escaping @Sendable () -> Void) {
        enter { [self] in
            defer { done() }
            guard let loop else { return }
            loop.cutAll()
            // Wills and ends of sessions are told to nobody who is here now, but they are commits.
            loop.flush(all: true)
            loop.armTimer()
            loop.callWhenEmpty()
        }
    }
}

extension EventLoop {
    fileprivate func cutAll() {
        beginTurn()
        // Whoever has connected is cut off, also if nobody has looked yet.
        for acceptor in acceptors { accept(from: acceptor) }
        for id in connections.ids { close(id, .peerLost) }
    }
}
