import BusJSON
import TestModes
import TestSupport
import Testing

/// `return`: a dispatch is answered with what it has changed.
@Suite(.inBothModes) struct ToldChangeTests {
    @Test func replyTellsWhatADryRunWouldHaveShown() throws {
        let bus = try MemoryBus.logging("counter/a", "counter/b", "thermostat/t")
        let client = bus.connect(uid: 0)
        for line in [
            #"{"op":"dispatch","type":"counter","action":"increment""#,
            #"{"op":"dispatch","store":"thermostat/t","action":"measured","payload":{"celsius":3}"#,
            #"{"op":"dispatch","store":"counter/a","action":"increment","payload":{"by":0}"#,
            #"{"op":"dispatch","actions":[{"store":"counter/a","action":"increment"},{"op":"create","store":"counter/c"},{"op":"drop","store":"counter/b"}]"#,
        ] {
            for form in ["states", "changes"] {
                let tried = try client.reply(to: line + #","dryRun":true,"return":"\#(form)"}"#)
                let last = form == "changes"
                guard last else { continue }
                let done = try client.reply(to: line + #","return":"\#(form)"}"#)
                #expect(tried["revision"]?.int.map { $0 + 1 } == done["revision"]?.int)
                for member in ["matched", "changed", "changes", "states", "dropped"] {
                    #expect(tried[member] == done[member], "\(line): \(member)")
                }
            }
        }
        let states = try client.reply(
            to: #"{"op":"dispatch","store":"counter/a","action":"increment","return":"states"}"#)
        #expect(
            states == [
                "ok": true, "revision": 8, "matched": 1, "changed": 1,
                "states": ["counter/a": ["count": 3, "isEven": false]],
            ])
        #expect(try bus.isWhatTheLogSays())
    }

    @Test(
        arguments: [
            #","return":"all""#, #","return":true"#, #","return":"changes","in":5"#,
            #","return":"changes","at":1"#,
        ])
    func otherwiseItIsRefused(_ more: String) throws {
        let client = try MemoryBus.with("counter/a").connect()
        let error = try client.reply(
            to: #"{"op":"dispatch","store":"counter/a","action":"increment"\#(more)}"#)["error"]
        #expect(error?["code"] == "invalid_request")
        #expect(error?["member"] == "return")
    }

    /// The dispatch is committed, so it is not refused because of its reply.
    @Test func whatDoesNotFitIsLeftOut() throws {
        let bus = try MemoryBus.with { $0.limits.daemon.line = 4096 }
        let client = bus.connect()
        for index in 0..<400 { try client.revision(after: #"{"op":"create","store":"counter/c\#(index)"}"#) }
        let reply = try client.reply(
            to: #"{"op":"dispatch","type":"counter","action":"increment","return":"changes"}"#)
        #expect(reply == ["ok": true, "revision": 401, "matched": 400, "changed": 400, "omitted": true])
    }

    @Test func repeatedRequestIsAnsweredWithoutThem() throws {
        let client = try MemoryBus.with("counter/a").connect()
        let line = #"{"op":"dispatch","store":"counter/a","action":"increment","key":"k","return":"changes"}"#
        #expect(try client.reply(to: line)["changes"] == ["counter/a": ["count": 1, "isEven": false]])
        #expect(
            try client.reply(to: line) == [
                "ok": true, "revision": 2, "matched": 1, "changed": 1, "duplicate": true,
            ])
    }
}
