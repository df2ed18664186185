import BusJSON
import BusState
import TestSupport
import Testing

/// A path has hints: the positions of its keys in the type's initial state. Whether the keys are still there or not, a write
/// has the same results: the state, the undo records, and the counted work.
struct HintedWriteTests {
    private static let initial: JSONObject = [
        "a": ["x": 1, "y": ["p": 1.5, "q": true, "r": "text"], "z": [1, 2]], "b": 2, "c": ["only": 3],
        "d": false,
    ]
    private static let paths = [
        ["a", "x"], ["a", "y", "p"], ["a", "y", "q"], ["a", "y", "r"], ["a", "z"], ["a", "z", "1"], ["b"],
        ["c", "only"], ["c", "new"], ["d"], ["missing", "x"], ["b", "x"],
    ]

    @Test(arguments: 0..<300 as Range<UInt64>)
    func hintsChangeNothing(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var state = Self.initial
        // Members that the type's initial state lacks shift the positions of the others.
        for name in ["A", "bb", "zz"] where generator.oneIn(3) { state[name] = 0 }
        if generator.oneIn(3), case .object(var inner)? = state["a"] {
            inner["w"] = 0
            state["a"] = .object(inner)
        }
        let writes = try (0..<Int.random(in: 1...6, using: &generator)).map { _ in
            let kind = try #require(
                WriteKind.allCases.filter { $0 != .merge }.randomElement(using: &generator))
            let path = try #require(Self.paths.randomElement(using: &generator))
            let value = generator.oneIn(2) ? .int(Int(seed)) : randomJSON(using: &generator, depth: 2)
            return (kind: kind, path: path, value: value)
        }
        let before = state
        let (hinted, plain) = (Outcome(before), Outcome(before))
        for write in writes {
            let known = StatePath(write.path, hints: Self.hints(write.path), isOfType: true)
            let isDone = hinted.write {
                $0.carryOut(write.kind, known.parts, $1)
            } value: {
                write.value
            }
            // These hints are never right, so every write takes the general path.
            let unknown = StatePath(write.path, hints: write.path.map { _ in 1000 }, isOfType: true)
            let isDonePlainly = plain.write {
                $0.carryOut(write.kind, unknown.parts, $1)
            } value: {
                write.value
            }
            #expect(isDone == isDonePlainly)
            hinted.kept.append(known)
            plain.kept.append(unknown)
        }
        #expect(hinted.state == plain.state)
        #expect(hinted.counts == plain.counts)
        #expect(hinted.size == hinted.state.encodedSize)
        #expect(hinted.undoLog.count == plain.undoLog.count)
        for index in 0..<min(hinted.undoLog.count, plain.undoLog.count) {
            let (one, other) = (hinted.undoLog.records[index], plain.undoLog.records[index])
            #expect(one.path == other.path)
            #expect("\(one.before)" == "\(other.before)")
        }
        hinted.undoLog.undo(to: 0, in: &hinted.state)
        #expect(hinted.state == before)
        #expect(
            before.encoded == plain.start.encoded, "A state that others hold is copied before it changes.")
    }

    private static func hints(_ path: [String]) -> [Int] {
        var here: JSON? = .object(initial)
        return path.map { key in
            guard case .object(let object)? = here else { return 0 }
            here = object[key]
            return object.position(of: key).index
        }
    }

    /// A state, and the results of writing to it.
    private final class Outcome {
        let start: JSONObject
        var state: JSONObject
        let undoLog = UndoLog()
        var size: Int
        /// The work and the copied elements of each write.
        var counts: [Int] = []
        /// Paths that the undo log refers to.
        var kept: [StatePath] = []

        init(_ state: JSONObject) {
            start = state
            self.state = state
            size = state.encodedSize
        }

        func write(
            _ body: (inout Draft, UnsafePointer<JSON>) -> Bool, value: () -> JSON
        ) -> Bool {
            withUnsafeMutablePointer(to: &state) { place in
                var draft = Draft(place, size: size, undoLog: undoLog)
                let isDone = withUnsafePointer(to: value()) { body(&draft, $0) }
                counts += [draft.work, draft.copied]
                size = draft.size
                return isDone
            }
        }
    }
}
