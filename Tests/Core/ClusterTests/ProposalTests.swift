import BusCluster
import TestSupport
import Testing

/// Proposals as bytes: what was written is read, and nothing else is taken for it.
@Suite struct ProposalTests {
    static func random(using generator: inout SeededGenerator) -> ProposalContent {
        func bytes(_ most: Int) -> [UInt8] {
            (0..<Int.random(in: 0...most, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
        }
        func hash() -> ChainHash { ChainHash(first: generator.next(), second: generator.next()) }
        // As clients send them: mostly alike.
        func line() -> [UInt8] {
            Array(
                #"{"op":"dispatch","store":"counter/\#(generator.next() % 12)","action":"add","id":\#(generator.next() % 1000)}"#
                    .utf8)
        }
        let principals = [ClusterEntry.daemon, Array(#"{"uid":1000,"pid":1}"#.utf8), bytes(20)]
        let entries = (0..<Int.random(in: 0...6, using: &generator)).map { _ in
            let command: ClusterEntry.Command =
                switch Int.random(in: 0..<7, using: &generator) {
                case 0: .request(bytes(200))
                case 5, 6: .request(line())
                case 1: .revert(bytes(40), past: bytes(40))
                case 2: .sessionNamed("name-\(generator.next())", linger: Int(generator.next() >> 40))
                case 3: .sessionEnded
                default: .configure(bytes(100))
                }
            return ClusterEntry(
                session: Int(generator.next() >> UInt64.random(in: 1..<64, using: &generator)),
                by: principals.randomElement(using: &generator)!, isOperator: generator.oneIn(2), command)
        }
        return ProposalContent(
            clock: Int.random(in: 0...ClusterLimits.latestClock, using: &generator),
            evidence: Evidence(
                epoch: "e\(generator.next())",
                link: ChainLink(place: Int(generator.next() >> 30), input: hash(), output: hash())),
            entries: entries)
    }

    @Test func proposalIsReadAsItWasWritten() throws {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<2000 {
            let proposal = Self.random(using: &generator)
            #expect(try ProposalContent(proposal.encoded) == proposal)
        }
    }

    /// Whatever is read is written the same way: two proposals that differ in a byte differ in meaning.
    @Test func whatIsReadHasOneForm() {
        var generator = SeededGenerator(seed: 2)
        var taken = 0
        for _ in 0..<50_000 {
            let bytes = mutated(Self.random(using: &generator).encoded, using: &generator)
            guard let proposal = try? ProposalContent(bytes) else { continue }
            taken += 1
            #expect(proposal.encoded == bytes)
        }
        #expect(taken > 1000)
    }

    /// What does not repeat what it shares with the line before takes a fraction of the bytes, and still no more than a
    /// proposal when it is read.
    @Test func linesThatAreAlikeAreWrittenShort() throws {
        let by = ClusterEntry.daemon
        let entries = (0..<1000).map { number in
            let line =
                #"{"op":"dispatch","store":"counter/main","action":"add","payload":{"by":1},"id":\#(number)}"#
            return ClusterEntry(session: 1, by: by, .request(Array(line.utf8)))
        }
        let evidence = Evidence(epoch: "e", link: .beginning)
        let proposal = ProposalContent(clock: 1, evidence: evidence, entries: entries)
        #expect(proposal.encoded.count < 12_000)
        #expect(try ProposalContent(proposal.encoded) == proposal)
        // Lines that repeat a long one, byte for byte, would take far more room than they came with.
        let long = ClusterEntry(
            session: 1, by: by, .request([UInt8](repeating: 120, count: ClusterLimits.proposal / 2)))
        let bomb = ProposalContent(clock: 1, evidence: evidence, entries: [long, long, long]).encoded
        #expect(bomb.count < ClusterLimits.proposal)
        #expect(throws: ProposalFailure.malformed) { try ProposalContent(bomb) }
    }

    @Test func everyTruncationIsRefused() {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<50 {
            let bytes = Self.random(using: &generator).encoded
            for count in bytes.indices {
                #expect(throws: ProposalFailure.malformed) { try ProposalContent(Array(bytes[..<count])) }
            }
        }
    }

    @Test func laterRulesAreToldFromDamage() {
        var generator = SeededGenerator(seed: 4)
        let proposal = Self.random(using: &generator)
        let later = ProposalContent(
            rules: ClusterLimits.rules + 1, clock: proposal.clock, evidence: proposal.evidence,
            entries: proposal.entries)
        #expect(throws: ProposalFailure.newer(rules: ClusterLimits.rules + 1)) {
            try ProposalContent(later.encoded)
        }
    }

    /// The examples of FIPS 180-4.
    @Test func hashIsSHA256() {
        func digest(_ text: String, pieces: Int = 1) -> String {
            var hash = SHA256()
            let bytes = Array(text.utf8)
            for start in stride(from: 0, to: bytes.count, by: max(1, bytes.count / pieces)) {
                hash.add(Array(bytes[start..<min(bytes.count, start + max(1, bytes.count / pieces))]))
            }
            return hash.finish().map { byte in
                let digits = String(byte, radix: 16)
                return digits.count == 1 ? "0" + digits : digits
            }.joined()
        }
        #expect(digest("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(digest("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        let long = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"
        let wanted = "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        for pieces in 1...long.utf8.count { #expect(digest(long, pieces: pieces) == wanted) }
        #expect(
            digest(String(repeating: "a", count: 1_000_000), pieces: 977)
                == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }
}
