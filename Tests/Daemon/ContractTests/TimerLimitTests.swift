import BusJSON
import TestModes
import TestSupport
import Testing

/// What a timer may hold, how soon it may be due, and how lists of many are paged.
@Suite(.inBothModes) struct TimerLimitTests {
    private let reminder = """
        type: reminder
        initial: { n: 0 }
        actions:
          remind:
            payload: { text: string }
            increment: { n: 1 }
            timers: { again: { in: 1h, action: remind, payload: { text: { var: payload.text } } } }
        """

    private func remind(_ store: Int, _ bytes: Int) -> String {
        let text = String(repeating: "x", count: bytes)
        return
            #"{"op":"dispatch","store":"reminder/r\#(store)","action":"remind","payload":{"text":"\#(text)"}}"#
    }

    private func bus(_ change: (inout MemoryBus.Setup) -> Void) throws -> MemoryBus {
        try TimedBus.make {
            $0.definitions.append(reminder)
            $0.stores += (0..<10).map { "reminder/r\($0)" }
            change(&$0)
        }
    }

    /// A time that is long past is a mistake, and not a wish to have it done at once.
    @Test(arguments: [0, 928_281_600, 1_794_999_939, 1_794_999_939.999])
    func aTimeThatIsLongPastIsRefused(_ at: Double) throws {
        let bus = try TimedBus.make()
        let client = bus.connect()
        let later = #"{"op":"dispatch","store":"counter/a","action":"increment","at":"#
        let error = try client.reply(to: later + "\(at)}")["error"]
        #expect(error?["code"] == "invalid_request" && error?["member"] == "at", "\(error ?? .null)")
        #expect(try client.code(of: later + #"\#(at),"dryRun":true}"#) == "invalid_request")
        bus.advance(milliseconds: 100)
        #expect(try client.state(of: "counter/a")?["count"] == 0)
    }

    /// One with a key that is sent again after its time gets the first one's reply.
    @Test func aRequestThatIsSentAgainLateIsTheSame() throws {
        let bus = try TimedBus.make()
        let client = bus.connect()
        let line = #"{"op":"dispatch","store":"counter/a","action":"increment","at":1795000001,"key":"k"}"#
        let first = try client.reply(to: line)
        bus.advance(milliseconds: 300_000)
        let again = try client.reply(to: line)
        #expect(again["duplicate"] == true && again["due"] == first["due"], "\(again)")
        #expect(try client.state(of: "counter/a")?["count"] == 1)
    }

    /// A time that is just past is the next possible one: an action that sets its own timer never fires twice in one moment.
    @Test(arguments: [1_794_999_940, 1_794_999_999.5, 1_795_000_000])
    func aPastTimeIsTheNextPossibleOne(_ at: Double) throws {
        let bus = try TimedBus.make()
        let client = bus.connect()
        let due = Double(bus.now + 10) / 1000
        let reply = try client.reply(
            to: #"{"op":"dispatch","store":"counter/a","action":"increment","at":\#(at)}"#)
        #expect(reply["due"]?.double == due)
        try client.revision(
            after: #"{"op":"dispatch","store":"lamp/a","action":"dawn","payload":{"at":\#(at)}}"#)
        let timers = try client.reply(to: #"{"op":"timers"}"#)["timers"]?.array
        #expect(timers?.map { $0["due"]?.double } == [due, due])
        bus.advance(milliseconds: 9)
        #expect(try client.state(of: "counter/a")?["count"] == 0)
        bus.advance(milliseconds: 1)
        #expect(try client.state(of: "counter/a")?["count"] == 1)
        #expect(try client.state(of: "lamp/a")?["on"] == true)
    }

    @Test func aLeaseIsNoTimerOfItsStore() throws {
        let bus = try TimedBus.make { $0.limits.bus.timersOfStore = 2 }
        let client = bus.connect()
        try client.revision(after: #"{"op":"create","store":"loan/l"}"#)
        let later = #"{"op":"dispatch","store":"loan/l","action":"look","in":5}"#
        for _ in 0..<2 { #expect(try client.code(of: later) == nil) }
        #expect(try client.code(of: later) == "limit")
    }

    @Test func aTimerHoldsNoMoreThanAState() throws {
        let bus = try bus { $0.limits.bus.state = 2000 }
        let client = bus.connect()
        #expect(try client.code(of: remind(0, 1500)) == nil)
        let error = try client.reply(to: remind(0, 2500))["error"]
        #expect(error?["code"] == "rejected")
        #expect(error?["message"]?.string?.contains("payload is longer than 2000 bytes") == true)
        let later = remind(0, 2500).replacing(#"{"op""#, with: #"{"in":5,"op""#)
        #expect(try client.code(of: later) == "limit")
        #expect(try client.timers() == ["reminder/r0 again"])
    }

    /// One that is refused leaves the timer whose place it should have taken.
    @Test func aRefusedTimerTakesNoPlace() throws {
        let bus = try bus {
            $0.limits.bus.state = 2000
            $0.log = MemoryLog()
        }
        let client = bus.connect()
        func tea(_ bytes: Int) -> String {
            remind(0, bytes).replacing(#"{"op""#, with: #"{"in":5,"timer":"tea","op""#)
        }
        try client.revision(after: tea(10))
        let digest = bus.engine.stateDigest
        #expect(try client.code(of: tea(2500)) == "limit")
        #expect(try client.timers() == ["reminder/r0 tea"])
        #expect(bus.engine.stateDigest == digest)
        try client.increment()
        #expect(try bus.isWhatTheLogSays())
        bus.advance(milliseconds: 5000)
        #expect(try client.state(of: "reminder/r0")?["n"] == 1)
    }

    /// Also those that actions set: the bus refuses the first one for which there is no room, and holds no more.
    @Test func timersOfActionsCountAsMemory() throws {
        let bus = try bus { $0.limits.daemon.memory = 100_000 }
        let client = bus.connect()
        let replies = try (0..<10).map { try client.reply(to: remind($0, 15_000)) }
        let set = replies.prefix { $0["ok"] == true }.count
        #expect((3...7).contains(set))
        let refused = try #require(replies.dropFirst(set).first)
        #expect(
            refused["error"]?["message"]?.string?.contains("memory limit") == true, "\(refused)")
        #expect(try client.timers().count == set)
        // One that takes another's place finds the room of that.
        #expect(try client.code(of: remind(0, 15_000)) == nil)
        #expect(try client.code(of: remind(0, 10)) == nil)
    }

    /// Timers that are due at one time are on several pages, none of them missing and none twice.
    @Test func pagesDivideTimersOfOneTime() throws {
        let bus = try bus { _ in }
        let client = bus.connect()
        for number in (0..<7).reversed() { try client.revision(after: remind(number, 1)) }
        for name in ["c", "a", "b"] {
            try client.revision(
                after: remind(8, 1).replacing(#"{"op""#, with: #"{"in":"1h","timer":"\#(name)","op""#))
        }
        let owners = (0..<7).map { "reminder/r\($0) again" } + ["a", "b", "c"].map { "reminder/r8 \($0)" }
        #expect(try client.timers() == owners)
        for limit in 1...4 {
            var (pages, after): ([String], String?) = ([], nil)
            repeat {
                let suffix = after.map { #","after":"\#($0)""# } ?? ""
                let reply = try client.reply(to: #"{"op":"timers","limit":\#(limit)\#(suffix)}"#)
                pages +=
                    reply["timers"]?.array?.map {
                        "\($0["store"]?.string ?? "") \($0["timer"]?.string ?? "")"
                    } ?? []
                after = reply["next"]?.string
            } while after != nil
            #expect(pages == owners, "\(limit) on a page")
        }
    }

    /// What other things take counts, too, where a client asks for a timer.
    @Test func aScheduleNeedsRoomBesideEverythingElse() throws {
        let bus = try bus { $0.limits.daemon.memory = 300_000 }
        let client = bus.connect()
        let action = #"{"store":"counter/a","action":"increment"}"#
        let actions = Array(repeating: action, count: 50).joined(separator: ",")
        let will = #"{"op":"will","actions":[\#(actions)]}"#
        let later = remind(0, 40_000).replacing(#"{"op""#, with: #"{"in":5,"op""#)
        var holders: [MemoryClient] = []
        repeat {
            holders.append(bus.connect(uid: MemoryBus.ownUID))
        } while try holders.last?.code(of: will) == nil
        let error = try client.reply(to: later)["error"]
        #expect(error?["code"] == "limit", "\(error ?? .null)")
        #expect(try client.timers() == [])
        for holder in holders { holder.close() }
        #expect(try client.code(of: later) == nil)
    }

    /// A timer of a type is listed with the whole type, and not with some of its stores.
    @Test(arguments: [
        ("*/*", ["counter all", "* every", "counter/a own"]),
        ("counter/*", ["counter all", "counter/a own"]),
        ("counter/a", ["counter/a own"]), ("counter/a*", ["counter/a own"]), ("lamp/*", []),
        ("c*/*", ["counter all", "counter/a own"]),
    ])
    func aTimerOfATypeIsListedWithTheWholeType(_ match: String, _ timers: [String]) throws {
        let client = try TimedBus.make().connect()
        for (target, name) in [(#""type":"counter""#, "all"), (#""type":"*""#, "every")] {
            try client.revision(
                after: #"{"op":"dispatch",\#(target),"action":"increment","in":5,"timer":"\#(name)"}"#)
        }
        try client.revision(
            after: #"{"op":"dispatch","store":"counter/a","action":"increment","in":9,"timer":"own"}"#)
        let listed = try client.reply(to: #"{"op":"timers","match":"\#(match)"}"#)["timers"]?.array
        let names = listed?.map {
            "\($0["store"]?.string ?? $0["type"]?.string ?? "") \($0["timer"]?.string ?? "")"
        }
        #expect(Set(names ?? []) == Set(timers) && names?.count == timers.count)
    }

    /// The payload that an action gives its timer is held against the schema of the timer's action at once, in all its
    /// words.
    @Test func theTimersPayloadIsCheckedWhenItIsSet() throws {
        let dimmer = """
            type: dimmer
            initial: { level: 0 }
            actions:
              dim:
                payload: { to: { type: integer, maximum: 100 } }
                set: { level: { var: payload.to } }
              later:
                payload: { to: integer }
                timers: { dim: { in: 1s, action: dim, payload: { to: { var: payload.to } } } }
            """
        let bus = try TimedBus.make {
            $0.definitions.append(dimmer)
            $0.stores.append("dimmer/d")
        }
        let client = bus.connect()
        func later(_ to: Int) -> String {
            #"{"op":"dispatch","store":"dimmer/d","action":"later","payload":{"to":\#(to)}}"#
        }
        let error = try client.reply(to: later(500))["error"]
        #expect(error?["code"] == "rejected")
        let message = error?["message"]?.string ?? ""
        #expect(
            message.contains("in the timer dim, dim: payload.to must be at most 100, not 500"), "\(message)")
        #expect(try client.timers() == [])
        try client.revision(after: later(50))
        bus.advance(milliseconds: 1000)
        #expect(try client.state(of: "dimmer/d") == ["level": 50])
    }
}
