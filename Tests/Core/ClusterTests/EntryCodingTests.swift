import BusCluster
import TestSupport
import Testing

/// Entries of the shared log and evidence as bytes: what was written is read, and nothing else is taken for it.
@Suite struct EntryCodingTests {
    private static func bytes(_ most: Int, _ generator: inout SeededGenerator) -> [UInt8] {
        (0..<Int.random(in: 0...most, using: &generator)).map { _ in
            UInt8.random(in: 0...255, using: &generator)
        }
    }

    /// Numbers of every size.
    private static func number(_ generator: inout SeededGenerator) -> Int {
        Int(generator.next() >> UInt64.random(in: 1..<64, using: &generator))
    }

    private static func entry(_ place: Int, _ generator: inout SeededGenerator) -> OrderedEntry {
        let names = ["a", "kitchen", "host-1.example_net", String(repeating: "z", count: 64)]
        func name() -> String { names.randomElement(using: &generator)! }
        switch Int.random(in: 0..<4, using: &generator) {
        case 0:
            let proposal = ProposalName(
                member: name(), incarnation: number(&generator), number: number(&generator))
            return OrderedEntry(place: place, .proposal(proposal, bytes(300, &generator)))
        case 1: return OrderedEntry(place: place, .joined(member: name(), report: bytes(40, &generator)))
        case 2:
            return OrderedEntry(
                place: place,
                .reported(
                    member: name(), incarnation: number(&generator), report: bytes(40, &generator)))
        default:
            let members = (0..<Int.random(in: 1...4, using: &generator)).map { _ in name() }
            return OrderedEntry(place: place, .ended(members: members))
        }
    }

    static func entries(_ most: Int, using generator: inout SeededGenerator) -> [OrderedEntry] {
        var place = 0
        return (0..<Int.random(in: 0...most, using: &generator)).map { _ in
            place += 1 + Int(generator.next() >> UInt64.random(in: 8..<64, using: &generator))
            return entry(place, &generator)
        }
    }

    private static func encoded(_ entries: [OrderedEntry]) -> [UInt8] { entries.flatMap(\.encoded) }

    @Test func entriesAreReadAsTheyWereWritten() {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<2000 {
            let entries = Self.entries(8, using: &generator)
            #expect(OrderedEntry.decode(all: Self.encoded(entries)) == entries)
        }
    }

    /// Whatever is read is written the same way.
    @Test func whatIsReadHasOneForm() {
        var generator = SeededGenerator(seed: 2)
        var taken = 0
        for _ in 0..<50_000 {
            let bytes = mutated(Self.encoded(Self.entries(4, using: &generator)), using: &generator)
            guard let entries = OrderedEntry.decode(all: bytes) else { continue }
            taken += 1
            #expect(Self.encoded(entries) == bytes)
        }
        #expect(taken > 1000, "\(taken)")
    }

    /// Random bytes are refused or, where they are an entry by chance, written the same way.
    @Test func randomBytesAreNoEntries() {
        var generator = SeededGenerator(seed: 3)
        var refused = 0
        for _ in 0..<50_000 {
            let bytes = Self.bytes(60, &generator)
            guard let entries = OrderedEntry.decode(all: bytes) else {
                refused += 1
                continue
            }
            #expect(Self.encoded(entries) == bytes)
        }
        #expect(refused > 45_000, "\(refused)")
    }

    /// What is cut off between two entries is a beginning; anywhere else it is refused.
    @Test func everyTruncationInsideAnEntryIsRefused() {
        var generator = SeededGenerator(seed: 4)
        for _ in 0..<50 {
            let entries = Self.entries(4, using: &generator)
            let bytes = Self.encoded(entries)
            var ends: [Int: Int] = [0: 0]
            for (index, entry) in entries.enumerated() {
                ends[(ends.keys.max() ?? 0) + entry.encoded.count] = index + 1
            }
            for count in 0...bytes.count {
                let wanted = ends[count].map { Array(entries[..<$0]) }
                #expect(OrderedEntry.decode(all: Array(bytes[..<count])) == wanted, "\(count)")
            }
        }
    }

    @Test func placesGrow() {
        let members = OrderedEntry.Content.ended(members: ["a"])
        let (one, two) = (OrderedEntry(place: 5, members).encoded, OrderedEntry(place: 6, members).encoded)
        #expect(OrderedEntry.decode(all: one + two)?.map(\.place) == [5, 6])
        #expect(OrderedEntry.decode(all: two + one) == nil)
        #expect(OrderedEntry.decode(all: one + one) == nil)
        #expect(OrderedEntry.decode(all: OrderedEntry(place: 0, members).encoded) == nil)
    }

    /// The largest that the log takes is read, and one byte more is not.
    @Test func whatIsLargerThanItsLimitIsRefused() {
        func isRead(_ content: OrderedEntry.Content) -> Bool {
            let entry = OrderedEntry(place: 1, content)
            return OrderedEntry.decode(all: entry.encoded) == [entry]
        }
        func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
        let name = ProposalName(member: "a", incarnation: 1, number: 1)
        let (proposal, report) = (OrderedLogLimits.proposal, OrderedLogLimits.report)
        #expect(isRead(.proposal(name, zeros(proposal))))
        #expect(!isRead(.proposal(name, zeros(proposal + 1))))
        #expect(isRead(.joined(member: "a", report: zeros(report))))
        #expect(!isRead(.joined(member: "a", report: zeros(report + 1))))
        #expect(!isRead(.reported(member: "a", incarnation: 1, report: zeros(report + 1))))
        #expect(!isRead(.ended(members: [String(repeating: "a", count: OrderedLogLimits.memberName + 1)])))
        #expect(!isRead(.ended(members: ["Kitchen"])))
        #expect(!isRead(.joined(member: "", report: [])))
    }

    // MARK: - Evidence

    private static func evidence(_ generator: inout SeededGenerator) -> Evidence {
        func hash() -> ChainHash { ChainHash(first: generator.next(), second: generator.next()) }
        let link = ChainLink(place: number(&generator), input: hash(), output: hash())
        return Evidence(epoch: "e\(generator.next())", link: link)
    }

    @Test func evidenceIsReadAsItWasWritten() {
        var generator = SeededGenerator(seed: 5)
        for _ in 0..<2000 {
            let evidence = Self.evidence(&generator)
            #expect(Evidence(evidence.encoded) == evidence)
        }
        let long = String(repeating: "e", count: ClusterLimits.epoch)
        #expect(Evidence(Evidence(epoch: long, link: .beginning).encoded)?.epoch == long)
        #expect(Evidence(Evidence(epoch: long + "e", link: .beginning).encoded) == nil)
    }

    @Test func changedEvidenceHasOneFormOrIsRefused() {
        var generator = SeededGenerator(seed: 6)
        for _ in 0..<20_000 {
            let bytes = mutated(Self.evidence(&generator).encoded, using: &generator)
            if let evidence = Evidence(bytes) { #expect(evidence.encoded == bytes) }
        }
        let whole = Self.evidence(&generator).encoded
        for count in whole.indices { #expect(Evidence(Array(whole[..<count])) == nil) }
        #expect(Evidence(whole + [0]) == nil)
    }
}
