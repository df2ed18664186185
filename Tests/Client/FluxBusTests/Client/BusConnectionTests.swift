import FluxBus
import TestServer
import Testing

/// One blocking connection: each request gets its own answer.
@Suite(.timeLimit(.minutes(10))) struct BusConnectionTests {
    @Test(arguments: [#""ok":true"#, #""ok":false,"error":{"code":"forbidden","message":"No."}"#])
    func lateAnswerIsNotTakenForTheNext(late: String) throws {
        let slow = try HandmadeBus { bus in
            guard let peer = bus.accept(), let first = peer.request(for: "stats"),
                let second = peer.request(for: "get")
            else { return }
            peer.send(#"{"id":\#(first),\#(late)}"#)
            peer.send(#"{"id":\#(second),"ok":true,"revision":7}"#)
            _ = peer.request(for: "nothing more")
        }
        let connection = try BusConnection(to: slow.address)
        let error = #expect(throws: BusError.self) {
            try connection.request(BusRequest("stats"), until: Deadline(after: .milliseconds(20)))
        }
        #expect(error?.code == .timedOut)
        #expect(try connection.request(BusRequest("get"))["revision"] == 7)
        #expect(try connection.request(BusRequest("ping"))["revision"] == 0)
    }
}
