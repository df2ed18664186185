import BusJSON
import BusState
import TestSupport
import Testing

/// Turning one state into another: what is written is the difference, and the undo log takes it back.
@Suite struct DraftBecomeTests {
    /// Makes `old` into `new` and looks at everything that must hold. Gives the paths that were written.
    @discardableResult
    private func become(_ old: JSONObject, _ new: JSONObject, _ note: String = "") -> [String] {
        var state = old
        let undoLog = UndoLog()
        writeElsewhere(undoLog)
        let size = withUnsafeMutablePointer(to: &state) { pointer in
            var draft = Draft(pointer, size: old.encodedSize, undoLog: undoLog)
            draft.become(new)
            return draft.size
        }
        #expect(state == new, "\(note)")
        #expect(size == new.encodedSize, "\(note)")
        let paths = (1..<undoLog.count).map { undoLog.records[$0].path.joined(separator: ".") }
        checkChanges(undoLog, from: old, to: new, note)
        undoLog.undo(to: 1, in: &state)
        #expect(state == old, "\(note)")
        #expect(undoLog.count == 1, "\(note)")
        return paths
    }

    /// Another store was written to before, in the same commit.
    private func writeElsewhere(_ undoLog: UndoLog) {
        var other: JSONObject = ["other": 1]
        withUnsafeMutablePointer(to: &other) { pointer in
            var draft = Draft(pointer, size: 11, undoLog: undoLog)
            #expect(throws: Never.self) { try draft.unset(StatePath(["other"])) }
        }
    }

    /// What subscribers are sent leads from the old state to the new one.
    private func checkChanges(_ undoLog: UndoLog, from old: JSONObject, to new: JSONObject, _ note: String) {
        let entries = Stack<DeltaEntry>(capacity: 16)
        DeltaBuilder.append([1..<undoLog.count], of: undoLog, state: new, to: entries)
        let writer = ByteWriter()
        if entries.isEmpty { return #expect(old == new, "\(note)") }
        do {
            if ChangeEncoder.appendMerge(entries.elements[...], of: new, to: writer) {
                let patch = try JSON(parsing: String(decoding: writer.bytes, as: UTF8.self))
                #expect(MergePatch.apply(patch, to: .object(old)) == .object(new), "\(note)")
            }
            writer.truncate(to: 0)
            ChangeEncoder.appendPatch(entries.elements[...], to: writer)
            let patch = try JSON(parsing: String(decoding: writer.bytes, as: UTF8.self))
            #expect(try JSONPatch.apply(patch, to: .object(old)) == .object(new), "\(note)")
        } catch {
            Issue.record(error, "\(note)")
        }
    }

    @Test func onlyWhatDiffersIsWritten() {
        #expect(
            become(["a": 1, "b": ["c": 2, "d": [1, 2]]], ["a": 1, "b": ["c": 2, "d": [1, 2]]]) == [])
        #expect(become(["a": 1, "b": ["c": 2, "d": 3]], ["a": 1, "b": ["c": 2, "d": 4]]) == ["b.d"])
        #expect(become(["a": 1], ["a": 1.0]) == ["a"])
        #expect(become(["a": 1, "b": 2], ["b": 2, "c": 3]) == ["a", "c"])
        #expect(become([:], ["a": [:]]) == ["a"])
        #expect(become(["a": [:], "b": 1], ["a": .null]) == ["a", "b"])
    }

    @Test func aGrownArrayIsAppendedTo() {
        #expect(become(["a": [1, 2]], ["a": [1, 2, 3, 4]]) == ["a", "a"])
        #expect(become(["a": []], ["a": ["x"]]) == ["a"])
        #expect(become(["a": [1, 2]], ["a": [0, 2, 3]]) == ["a"])
        #expect(become(["a": [1, 2, 3]], ["a": [1, 2]]) == ["a"])
    }

    @Test func anObjectWithManyNewMembersIsReplacedAsAWhole() {
        var many = JSONObject()
        for number in 0..<1000 { many["k\(number)"] = .int(number) }
        #expect(become(["in": [:], "n": 1], ["in": .object(many), "n": 2]) == ["in", "n"])
        #expect(become(["in": .object(many)], ["in": ["k5": 5]]) == ["in"])
        // The state itself can't be replaced, so there each member counts.
        #expect(become([:], many).count == 1000)
        #expect(become(many, ["k5": 6]).count == 1000)
    }

    @Test(arguments: 1...16) func randomStatesBecomeEachOther(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for round in 0..<250 {
            let old = randomJSONObject(using: &generator, depth: 5)
            let changed = randomlyChanged(.object(old), using: &generator, depth: 5)
            guard case .object(let new) = changed, !generator.oneIn(4) else {
                become(old, randomJSONObject(using: &generator, depth: 5), "seed \(seed), round \(round)")
                continue
            }
            become(old, new, "seed \(seed), round \(round)")
        }
    }
}
