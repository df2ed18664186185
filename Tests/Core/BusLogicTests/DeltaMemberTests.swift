import BusJSON
import BusState
import TestSupport
import Testing

/// What writes came to is derived from the undo log in two ways, which agree.
struct DeltaMemberTests {
    private static let keys = ["b", "a", "d", "c", "a longer key that is kept elsewhere", "list"]

    /// Writes to different members are one entry each, in the order of the members.
    @Test(arguments: 0..<200 as Range<UInt64>)
    func entriesOfDifferentMembersAreTheirWrites(_ seed: UInt64) throws {
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
        guard Set(written).count == writes, !wentDeeper else { return }
        let entries = Stack<DeltaEntry>()
        DeltaBuilder.append([0..<undoLog.count], of: undoLog, state: state, to: entries)
        var found = entries.elements[...]
        for index in undoLog.records.indices.sorted(by: {
            UTF8Order.precedes(undoLog.records[$0].path[0], undoLog.records[$1].path[0])
        }) {
            let record = undoLog.records[index]
            let after = state[record.path[0]]
            var (before, appendedFrom): (JSON?, Int?) = (nil, nil)
            switch record.before {
            case .value(let value): before = value
            case .absent: break
            case .elements(let count): appendedFrom = count
            }
            if before != nil, before == after { continue }
            let next = found.popFirst()
            let entry = try #require(next)
            #expect(entry.path == record.path)
            #expect(entry.before == before)
            #expect(entry.after == after)
            #expect(entry.appendedFrom == appendedFrom)
        }
        #expect(found.isEmpty)
    }

    private static let paths = [
        ["a"], ["b"], ["c"], ["c", "0"], ["d"], ["d", "x"], ["d", "w"], ["d", "y", "z"], ["d", "y"],
        ["e", "only"], ["a longer key that is kept elsewhere", "and \"another\" such"], ["new"], ["list"],
    ]

    /// Writes to places that objects lead to, none of which lies in another, are told from the undo log in place: in the
    /// same bytes as the entries tell them.
    @Test(arguments: 0..<400 as Range<UInt64>)
    func changesInPlaceAreWhatEntriesAre(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let undoLog = UndoLog()
        var state: JSONObject = [
            "a": 1, "b": "text", "c": [1], "d": ["w": 1.5, "x": 1, "y": ["z": 2]], "e": ["only": 1],
            "a longer key that is kept elsewhere": ["and \"another\" such": true], "list": [1, 2],
        ]
        for _ in 0..<Int.random(in: 1...5, using: &generator) {
            let path = try #require(Self.paths.randomElement(using: &generator))
            withUnsafeMutablePointer(to: &state) { pointer in
                var draft = Draft(pointer, size: pointer.pointee.encodedSize, undoLog: undoLog)
                // What stood there may be gone by now.
                guard path.count == 1 || pointer.pointee.value(at: path.dropLast()) != nil else { return }
                let before = pointer.pointee.value(at: path)
                do throws(WriteFailure) {
                    if before != nil, generator.oneIn(5) {
                        try draft.unset(StatePath(path))
                    } else if case .array? = before, generator.oneIn(2) {
                        try draft.append(StatePath(path), 3)
                    } else {
                        let value = generator.oneIn(3) ? before : nil
                        try draft.set(StatePath(path), to: value ?? randomJSON(using: &generator, depth: 2))
                    }
                } catch {
                    #expect(
                        error.reason == .notContainer || error.reason == .badIndex || error.reason == .missing
                    )
                }
            }
        }
        // A change of an array's length is one of the array.
        let written = undoLog.records.indices.map { undoLog.records[$0].path }
        guard !written.isEmpty else { return }
        let isApart = written.indices.allSatisfy { one in
            written[..<one].allSatisfy { !$0.starts(with: written[one]) && !written[one].starts(with: $0) }
        }
        let isTold = isApart && !written.contains(["c", "0"])
        let entries = Stack<DeltaEntry>()
        DeltaBuilder.append([0..<undoLog.count], of: undoLog, state: state, to: entries)
        let (fromEntries, inPlace) = (ByteWriter(), ByteWriter())
        withUnsafePointer(to: state) { pointer in
            let changes = MemberChanges()
            #expect(changes.gather(undoLog.records.elements, in: pointer) == isTold)
            guard isTold else { return }
            #expect(changes.isEmpty == entries.isEmpty)
            if entries.isEmpty { return }
            let isWritten = ChangeEncoder.appendMerge(entries.elements[...], of: state, to: fromEntries)
            #expect(changes.appendMerge(to: inPlace) == isWritten)
            #expect(inPlace.text == fromEntries.text)
        }
    }
}
