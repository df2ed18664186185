import BusJSON
import BusProtocol
import TestSupport
import Testing

/// A reader that remembers what lines of a sender look like gives of every line what a reader gives that has never
/// seen one.
@Suite("Lines like those before") struct RequestTemplateTests {
    /// All that a reader says of a line.
    private struct Outcome: Equatable {
        var error: String?
        var operation: String?
        var id: [UInt8] = []
        var members: [String] = []
        var payload: JSONObject?
        var actions: [Action] = []
    }

    /// One action of a batch.
    private struct Action: Equatable {
        let isStore: Bool
        let target: [UInt8]
        let name: [UInt8]
        let payload: JSONObject
    }

    private static let depth = 5

    /// A reader with several senders.
    private final class Senders {
        final class Sender { var memory = SenderMemory() }

        let reader: RequestReader
        private var senders: [Int: Sender] = [:]

        init(depth: Int) { reader = RequestReader(depth: depth) }

        func read(_ bytes: UnsafeRawBufferPointer, from number: Int) throws(RequestError) {
            let sender = senders[number] ?? Sender()
            senders[number] = sender
            try reader.read(bytes, from: &sender.memory)
        }
    }

    private func outcome(_ line: [UInt8], _ senders: Senders, from sender: Int = 0) -> Outcome {
        var outcome = Outcome()
        let reader = senders.reader
        line.withUnsafeBytes { bytes in
            do throws(RequestError) {
                try senders.read(bytes, from: sender)
                outcome.id = Array(reader.id)
                for member in Member.allCases where reader.present.contains(member) {
                    outcome.members.append("\(member.name): \(text(of: member, reader))")
                }
                if reader.present.contains(.payload) { outcome.payload = reader.payload }
                for place in 0..<reader.batch.count {
                    let element = reader.batch.elements[place]
                    outcome.actions.append(
                        Action(
                            isStore: element.isStore, target: Array(element.target),
                            name: Array(element.action), payload: element.payload))
                }
                outcome.operation = try reader.operation().rawValue
            } catch {
                outcome.error = "\(error.code) \(error.message) \(error.details)"
            }
        }
        return outcome
    }

    private func text(of member: Member, _ reader: RequestReader) -> String {
        switch member {
        case .op: "\(Array(reader.op))"
        case .type: "\(Array(reader.type))"
        case .store: "\(Array(reader.store))"
        case .action: "\(Array(reader.action))"
        case .id, .payload: ""
        case .key: "\(String(describing: (try? reader.key).map { $0.map(Array.init) }))"
        default: "\(String(describing: reader.value(member)))"
        }
    }

    private func expectSame(_ line: [UInt8], _ reader: Senders, from sender: Int = 0) -> Bool {
        let wanted = outcome(line, Senders(depth: Self.depth))
        let found = outcome(line, reader, from: sender)
        if found == wanted { return true }
        Issue.record("\(String(decoding: line, as: UTF8.self)): \(found), not \(wanted)")
        return false
    }

    /// Whether the reader knows a line again.
    private func matchesTemplate(_ line: String, _ senders: Senders, from sender: Int = 0) throws -> Bool {
        try Array(line.utf8).withUnsafeBytes { try senders.read($0, from: sender) }
        let reader = senders.reader
        defer { reader.resolved?.pointee = Self.resolved }
        return reader.resolved?.pointee.names == Self.resolved.names
    }

    private static let resolved = ResolvedDispatch(type: 1, action: 2, store: 3, definition: 4, names: 5)

    private static let kinds = [
        #"{"op":"dispatch","id":7,"type":"counter","action":"increment","payload":{"by":1}}"#,
        #"{"op":"dispatch","id":12,"store":"counter/kitchen","action":"increment","payload":{"by":1,"room":"k"}}"#,
        #"{"op":"dispatch","type":"counter","action":"increment","payload":{"by":1},"id":12345}"#,
        #"{"payload":{"a":[1,{"b":null}]},"op":"dispatch","type":"*","action":"put"}"#,
        #"{"op":"dispatch","id":"a-1","type":"counter","action":"reset"}"#,
        #"{"op":"dispatch","type":"counter","action":"reset"}"#,
        #" { "op" : "dispatch" , "id" : 9 , "type" : "counter" , "action" : "increment" , "payload" : { "by" : 2 } } "#,
        #"{"op":"dispatch","id":1,"type":"counter","store":"","action":"","payload":{}}"#,
        #"{"op":"dispatch","id":1,"type":"counter","payload":{"by":-3.5e2,"a-longer-name-than-most":true}}"#,
        #"{"op":"dispatch","id":7,"store":"counter/a","action":"increment","payload":{"by":1},"key":"k-1"}"#,
        #"{"key":"","payload":{"by":1},"store":"","op":"dispatch","action":"increment","id":7}"#,
        #"{"op":"dispatch","id":7,"actions":[{"store":"counter/a","action":"increment","payload":{"by":1}},{"payload":{"by":1},"store":"counter/b","action":"put"}]}"#,
        #"{"actions":[{"type":"*","action":"reset"},{"store":"counter/a","action":"reset"}],"op":"dispatch","key":"k-1","id":"b"}"#,
        #"{"op":"dispatch","actions":[{"store":"counter/a","action":"increment","payload":{"by":{}}}],"store":"counter/a","payload":{}}"#,
        #"{"store":"counter/a","key":"k\u002d1","op":"dispatch","action":"increment"}"#,
        #"{"op":"dispatch","id":3,"type":"counter","action":"increment","payload":{"by":1},"ack":false}"#,
        #"{"op":"ping","id":4}"#, #"{"op":"d\u0069spatch","id":5,"type":"counter","action":"increment"}"#,
    ]

    @Test func whatIsTheSameIsKnownAgain() throws {
        let reader = Senders(depth: Self.depth)
        for (sender, kind) in Self.kinds.dropLast(4).enumerated() {
            #expect(try !matchesTemplate(kind, reader, from: sender))
            #expect(try matchesTemplate(kind, reader, from: sender), "\(kind)")
        }
        let ids = ["0", "1", "123456", "1234567", "12345678", "123456789012345678", "-4", #""b""#]
        for id in ids {
            let line =
                #"{"op":"dispatch","id":\#(id),"type":"counter","action":"increment","payload":{"by":\#(id)}}"#
            #expect(try matchesTemplate(line, reader), "\(line)")
        }
    }

    @Test func whatIsNoPlainDispatchIsNotKnownAgain() throws {
        let reader = Senders(depth: Self.depth)
        let long = String(repeating: "n", count: 300)
        for line in Self.kinds.suffix(4) + [#"{"op":"dispatch","type":"\#(long)","action":"a"}"#] {
            for _ in 0..<10 { #expect(try !matchesTemplate(line, reader), "\(line)") }
        }
    }

    /// A line to another store, or with another key, is known again, and what it names is found out for it; the same store again
    /// is the store of the line before.
    @Test func otherStoresAndKeysAreKnownAgain() throws {
        let reader = Senders(depth: Self.depth)
        func line(_ store: String, _ key: String) -> String {
            #"{"op":"dispatch","store":"\#(store)","action":"increment","key":"\#(key)","payload":{"by":1}}"#
        }
        #expect(try !matchesTemplate(line("counter/a", "1"), reader))
        var before = "counter/a"
        // The longest that is known again.
        let long = "counter/" + String(repeating: "s", count: 55)
        for store in ["counter/a", "counter/b", "counter/b", "", "", long, long, "", "counter/a", "a"] {
            for key in ["1", "", String(repeating: "k", count: 40)] {
                let bytes = Array(line(store, key).utf8)
                try bytes.withUnsafeBytes { bytes in
                    try reader.read(bytes, from: 0)
                    let request = reader.reader
                    #expect(request.matchesTemplate)
                    #expect(Array(request.store) == Array(store.utf8))
                    #expect(try request.key.map(Array.init) == Array(key.utf8))
                    let isKnown = request.resolved?.pointee.store != ResolvedDispatch.unknownStore
                    #expect(isKnown == (store == before), "\(store) after \(before)")
                    request.resolved?.pointee = Self.resolved
                }
                before = store
            }
        }
        for count in [56, 200] {
            let longer = "counter/" + String(repeating: "s", count: count)
            #expect(try !matchesTemplate(line(longer, "1"), reader))
            #expect(try !matchesTemplate(line("counter/a", longer), reader))
        }
    }

    /// Batches are known again up to a number of actions, and by the number of their actions.
    @Test func batchesAreKnownAgain() throws {
        let reader = Senders(depth: Self.depth)
        func line(_ stores: [String]) -> String {
            let actions = stores.map { #"{"store":"\#($0)","action":"increment","payload":{"by":1}}"# }
            return #"{"op":"dispatch","id":1,"actions":[\#(actions.joined(separator: ","))]}"#
        }
        for count in 1...6 {
            let stores = (0..<count).map { "counter/\(count)-\($0)" }
            for turn in 0..<10 {
                let isKnown = try matchesTemplate(line(stores), reader, from: count)
                #expect(isKnown == (count <= 4 && turn > 0))
            }
            #expect(try matchesTemplate(line(stores.reversed()), reader, from: count) == (count <= 4))
            #expect(try !matchesTemplate(line(stores + stores), reader, from: count))
            #expect(try !matchesTemplate(line([]), reader, from: count))
        }
    }

    /// Who sends another kind each time is not remembered each time; who stays with one is known soon.
    @Test func senderThatChangesIsKnownSoon() throws {
        let reader = Senders(depth: Self.depth)
        for number in 0..<100 {
            let line = #"{"op":"dispatch","store":"counter/s","action":"increment\#(number)"}"#
            #expect(try !matchesTemplate(line, reader))
        }
        var strange = 0
        while try !matchesTemplate(Self.kinds[0], reader) { strange += 1 }
        #expect(strange <= 8)
    }

    /// A program that sends a few kinds in turn, or in any order, is known for each of them.
    @Test func kindsInTurnAreKnownAgain() throws {
        let reader = Senders(depth: Self.depth)
        let kinds = [Self.kinds[0], Self.kinds[4], Self.kinds[9], Self.kinds[11]]
        for kind in kinds { #expect(try !matchesTemplate(kind, reader)) }
        for _ in 0..<3 {
            for kind in kinds { #expect(try matchesTemplate(kind, reader), "\(kind)") }
        }
        var random = SeededGenerator(seed: 0x7a4e)
        for _ in 0..<200 {
            let kind = kinds.randomElement(using: &random)!
            #expect(try matchesTemplate(kind, reader), "\(kind)")
        }
    }

    /// A kind that is sent no more makes room for a new one; those that are still sent do not.
    @Test func newKindTakesThePlaceOfOneThatIsSentNoMore() throws {
        let reader = Senders(depth: Self.depth)
        let kept = [Self.kinds[0], Self.kinds[4]]
        for kind in kept + [Self.kinds[9], Self.kinds[11]] {
            #expect(try !matchesTemplate(kind, reader))
        }
        var lost = 0
        for new in [Self.kinds[5], Self.kinds[8], Self.kinds[3]] {
            var strange = 0
            repeat {
                for kind in kept where try !matchesTemplate(kind, reader) { lost += 1 }
                strange += 1
            } while try !matchesTemplate(new, reader) && strange < 100
            #expect(strange <= 24, "\(new)")
        }
        // All count as used at first, so one of those that are still sent may go once.
        #expect(lost <= 2)
    }

    /// Another depth is in force for familiar lines, too.
    @Test func depthHoldsForFamiliarLines() throws {
        let reader = Senders(depth: Self.depth)
        let kind = #"{"op":"dispatch","type":"t","action":"a","payload":{"a":[[[0]]]}}"#
        #expect(try !matchesTemplate(kind, reader))
        #expect(try matchesTemplate(kind, reader))
        let deeper = kind.replacing("[[[0]]]", with: "[[[[0]]]]")
        #expect(throws: RequestError.self) { try matchesTemplate(deeper, reader) }
        for depth in [4, 1] {
            reader.reader.limit(depth: depth)
            let wanted = outcome(Array(kind.utf8), Senders(depth: depth))
            #expect(outcome(Array(kind.utf8), reader) == wanted)
            #expect(wanted.error != nil)
        }
        let flat = Array(#"{"op":"dispatch","type":"t","action":"a"}"#.utf8)
        for _ in 0..<9 { #expect(outcome(flat, reader).error == nil) }
        reader.reader.limit(depth: 0)
        #expect(outcome(flat, reader).error != nil)
    }

    /// Each line with each of its bytes changed, lost or doubled, right after the line itself.
    @Test(arguments: kinds.indices)
    func injuredLinesAreReadAsByAnyReader(kind: Int) throws {
        let line = Array(Self.kinds[kind].utf8)
        let reader = Senders(depth: Self.depth)
        _ = expectSame(line, reader)
        for place in line.indices {
            var injured = [line, line, line, Array(line[..<place])]
            injured[0].remove(at: place)
            injured[1].insert(line[place], at: place)
            injured[2].swapAt(place, max(0, place - 1))
            for byte in Array(#"{}":,\ 09-.ea"#.utf8) + [31, 128, 0xff] {
                injured.append(line)
                injured[injured.count - 1][place] = byte
            }
            for line in injured where !expectSame(line, reader) { return }
            guard expectSame(line, reader) else { return }
        }
    }

    /// Three senders with lines of all kinds, other ids and payloads, disguises and injuries.
    @Test(arguments: 0..<8)
    func randomLinesAreReadAsByAnyReader(seed: UInt64) throws {
        var random = SeededGenerator(seed: 0xfa31 + seed)
        let reader = Senders(depth: Self.depth)
        var kinds = [[0], [1, 9], [2, 11, 3, 9, 10]]
        for _ in 0..<2_000 {
            let sender = Int.random(in: 0..<3, using: &random)
            let chosen = Int.random(in: kinds[sender].indices, using: &random)
            if random.oneIn(40) {
                kinds[sender][chosen] = Int.random(in: Self.kinds.indices, using: &random)
            }
            var line = Array(Self.kinds[kinds[sender][chosen]].utf8)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: line = mutated(line, using: &random)
            case 1: line = disguised(try JSON(parsing: line), using: &random)
            case 2, 3:
                // Other values where they may stand.
                let number = randomJSON(using: &random).encoded
                let text = String(decoding: line, as: UTF8.self)
                line = Array(text.replacing(#""by":1"#, with: #""by":\#(number)"#).utf8)
            case 5 where random.oneIn(2):
                // Other stores and keys where they may stand.
                let names = [
                    "counter/a", "counter/b", "", #"a\"b"#, "ü", "\u{1}", String(repeating: "x", count: 140),
                ]
                let (store, key) = (
                    names.randomElement(using: &random)!, names.randomElement(using: &random)!
                )
                let text = String(decoding: line, as: UTF8.self)
                line = Array(
                    text.replacing(#""store":"counter/a""#, with: #""store":"\#(store)""#)
                        .replacing(#""key":"k-1""#, with: #""key":"\#(key)""#).utf8)
            case 4:
                let text = String(decoding: line, as: UTF8.self)
                let id = ["0", "07", "1e3", "-0", "2.5", #""x\n""#, "null", "99999999999999999999"]
                    .randomElement(using: &random)!
                line = Array(text.replacing(#""id":7"#, with: #""id":\#(id)"#).utf8)
            default: break
            }
            guard expectSame(line, reader, from: sender) else { return }
        }
    }
}
