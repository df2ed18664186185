import TestModes
import TestSupport
import Testing

/// What is wrong in a file of rules is said in a sentence that tells what to write.
@Suite("Mistakes in access rules", .inBothModes) struct AccessMistakeTests {
    @Test(arguments: [
        (
            "roles: { guest: [bob] }\nrules: []",
            "bob does not say who it is; write everyone, or { user: bob }."
        ),
        (
            "roles: { Guest: [everyone] }\nrules: []",
            "A role can't be called Guest; start with a lower-case letter"
        ),
        (
            "roles: { guest: [everyone] }\nrules: [{ role: guest, may: read, match: lamp }]",
            "lamp is not a pattern of addresses; write TYPE/NAME, such as light/*."
        ),
        (
            "roles: { guest: [everyone] }\nrules: [{ role: guest, may: reed }]",
            "did you mean `read`?"
        ),
    ])
    func saysWhatToWrite(rules: String, sentence: String) throws {
        let error = #expect(throws: (any Error).self) { try MemoryBus(GuardedBus.setup(rules)) }
        #expect(error.map { "\($0)".contains(sentence) } == true, "\(error.map { "\($0)" } ?? "no error")")
    }
}
