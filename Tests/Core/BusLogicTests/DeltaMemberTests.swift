import BusJSON
import BusState
import TestSupport
import Testing

/// A few writes to different members are told one by one. That must be what looking at all of them together tells.
struct DeltaMemberTests {
    private static let keys = ["b", "a", "d", "c", "a longer key that is kept elsewhere", "list"]

    @Test(arguments: 0..<200 as Range<UInt64>)
    func membersOneByOneAreWhatAllTogetherAre(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let undoLog = UndoLog()
        var state: JSONObject = ["a": 1, "b": "text", "c": [1], "list": [1, 2], "d": ["x": 1]]
        let writes = Int.random(in: 1...4, using: &generator)
        var written: [String] = []
        var wentDeeper = false
        try withUnsafeMutablePointer(to: &state) { pointer in
            var draft = Draft(pointer, size: pointer.pointee.encodedSize, undoLog: undoLog)
            for _ in 0..<writes {
                let key = try #require(Self.keys.randomElement(using: &generator))
                if generator.oneIn(4), pointer.pointee[key] != nil {
                    try draft.unset(StatePath([key]))
                } else if case .array? = pointer.pointee[key], generator.oneIn(2) {
                    try draft.append(StatePath([key]), randomJSON(using: &generator, depth: 2))
                } else if case .object? = pointer.pointee[key] {
                    try draft.set(StatePath([key, "x"]), to: randomJSON(using: &generator, depth: 1))
                    wentDeeper = true
                } else {
                    // Sometimes what stands there already.
                    let value = generator.oneIn(3) ? pointer.pointee[key] : nil
                    try draft.set(StatePath([key]), to: value ?? randomJSON(using: &generator, depth: 2))
                }
                written.append(key)
            }
        }
        let together = Stack<DeltaEntry>()
        let alone = Stack<DeltaEntry>()
        DeltaBuilder.append([0..<undoLog.count], of: undoLog, state: state, to: together)
        let isPlain = DeltaBuilder.appendMembers(0..<undoLog.count, of: undoLog, &state, to: alone)
        #expect(isPlain == (Set(written).count == writes && !wentDeeper))
        #expect(alone.isEmpty || isPlain)
        guard isPlain else { return }
        #expect(alone.count == together.count)
        for index in 0..<min(alone.count, together.count) {
            let (one, all) = (alone[index], together[index])
            #expect(one.path == all.path)
            #expect(one.before == all.before)
            #expect(one.after == all.after)
            #expect(one.appendedFrom == all.appendedFrom)
        }
    }
}
