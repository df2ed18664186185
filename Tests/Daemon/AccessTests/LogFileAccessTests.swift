import TestModes
import TestSupport
import Testing

/// Who may copy a log, which holds everything, and who may work on its file.
@Suite(.inBothModes) struct LogFileAccessTests {
    @Test(arguments: [#"{"op":"backup"}"#, #"{"op":"backup","offset":7}"#, #"{"op":"compact"}"#])
    func onlyWhoManagesTheBusMay(_ line: String) throws {
        let bus = try GuardedBus.make()
        #expect(try bus.ada.code(line) == "forbidden")
        #expect(try bus.mallory.code(line) == "forbidden")
        #expect(try bus.root.code(line) != "forbidden")
    }

    /// Without rules it is root and the daemon's own user.
    @Test func withoutRulesOnlyAnOperatorMay() throws {
        var setup = MemoryBus.Setup()
        setup.log = MemoryLog()
        let bus = try MemoryBus(setup)
        let guest = bus.connect(uid: 4711)
        let owner = bus.connect(uid: MemoryBus.ownUID)
        for line in [#"{"op":"backup"}"#, #"{"op":"compact"}"#] {
            #expect(try guest.code(line) == "forbidden")
            #expect(try owner.code(line) == "ok")
        }
        #expect(try owner.code(#"{"op":"backup","offset":-1}"#) == "invalid_request")
        #expect(try owner.code(#"{"op":"compact","offset":0}"#) == "invalid_request")
    }
}
