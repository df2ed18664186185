import TestSupport
import Testing

/// What is wrong in a file of rules is said in a sentence that tells what to write.
@Suite("Mistakes in access rules") struct AccessMistakeTests {
    @Test(arguments: [
        (
            "roles: { guest: [bob] }\nrules: []",
            "bob does not say who it is; write everyone, or { user: bob }."
        ),
        (
            "roles: { guest: [{ client: panel }] }\nrules: []",
            "Any program may call itself by this name; also name its user, uid, group, unit, token or certificate."
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
        (
            "roles: { guest: [everyone] }\nrules: [{ role: guest, may: dispatch, if: stat.count < 2 }]",
            "line 1, column 1: stat is not known here; did you mean `state`?"
        ),
        (
            "roles: { guest: [everyone] }\nrules: [{ role: guest, may: dispatch, if: state.count + }]",
            "line 1, column 14: a value is missing"
        ),
        (
            "roles: { guest: [everyone] }\nrules: [{ role: guest, may: dispatch, if: size(state) }]",
            "a condition needs true or false, and size(state) is an integer."
        ),
        (
            "roles: { guest: [everyone] }\nrules: [{ role: guest, may: dispatch, if: 1 < 2 }]",
            "This condition is always true"
        ),
    ])
    func saysWhatToWrite(rules: String, sentence: String) throws {
        let error = #expect(throws: (any Error).self) { try MemoryBus(GuardedBus.setup(rules)) }
        #expect(error.map { "\($0)".contains(sentence) } == true, "\(error.map { "\($0)" } ?? "no error")")
    }
}
