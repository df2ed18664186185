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

    /// The `id` of the next request for this operation. Signs of life come whenever a busy machine made the client wait;
    /// those before it are answered.
    func request(for operation: String) -> Int? {
        while let request = line().flatMap({ try? JSON(parsing: $0) }) {
            let id = request["id"]?.int
            if request["op"]?.string == operation { return id }
            send(#"{"id":\#(id ?? 0),"ok":true,"revision":0}"#)
        }
        return nil
    }
}
