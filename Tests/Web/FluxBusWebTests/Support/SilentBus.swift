import BusJSON
import Dispatch
import Foundation
import TestServer

/// A bus that hangs: it accepts connections, and says no more than that it knows its client. Or it says
/// nothing, and at last that the token was wrong.
final class SilentBus: Sendable {
    private let listener: LineListener
    private let answersHello: Bool
    /// Once it is signaled, all connections end.
    private let isOver = DispatchSemaphore(value: 0)
    /// Signaled for each request that is not answered.
    let isAsked = DispatchSemaphore(value: 0)

    var address: String { listener.address }

    init(overTCP: Bool = false, answersHello: Bool = true) throws {
        listener = try LineListener(overTCP: overTCP)
        self.answersHello = answersHello
        Thread.detachNewThread { [self] in
            while let peer = listener.accept() {
                nonisolated(unsafe) let peer = peer
                Thread.detachNewThread { [self] in talk(peer) }
            }
            listener.close()
        }
    }

    /// Ends it, with all that waits for it.
    func end() {
        listener.endListening()
        isOver.signal()
    }

    private func talk(_ peer: LinePeer) {
        defer { peer.close() }
        while let line = peer.line() {
            let id = (try? JSON(parsing: Array(line.utf8)))?["id"]?.encoded ?? "null"
            if answersHello, line.contains(#""op":"hello""#) {
                peer.send(#"{"id":\#(id),"ok":true}"#)
                continue
            }
            isAsked.signal()
            isOver.wait()
            isOver.signal()
            if !answersHello { peer.send(#"{"id":\#(id),"ok":false,"error":{"code":"unauthorized"}}"#) }
            return
        }
    }
}
