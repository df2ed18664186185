import BusJSON
import FluxBus
import Foundation
import TestServer

/// A bus whose every line is written by the test: a listening socket, served by the test itself.
///
/// A blocking read belongs on a thread of its own, so the test's side runs as `serve` on one.
final class HandmadeBus: Sendable {
    private let listener: LineListener
    let address: BusAddress

    init(serve: @escaping @Sendable (LineListener) -> Void) throws {
        let listener = try LineListener()
        self.listener = listener
        address = try BusAddress(parsing: listener.address)
        Thread.detachNewThread {
            serve(listener)
            listener.close()
        }
    }
}

extension LinePeer {
    /// Answers the `hello`, which comes first.
    func greet(epoch: String = "e1", revision: Int = 0) {
        let hello = line().flatMap { try? JSON(parsing: $0) }
        let id = hello?["id"]?.int ?? 0
        send(
            #"{"id":\#(id),"ok":true,"protocol":1,"server":"test","version":"1","epoch":"\#(epoch)","revision":\#(revision),"identity":{},"limits":{"line":1048576}}"#
        )
    }
}
