import BusCluster
import BusJSON
import EtcdLog
import Synchronization
import TestSupport
import Testing

/// What a member passes on of the shared log, beside all that it was told.
struct RelayFeedTests {
    private struct Follower {
        var place: Int
        let start: Int
        var entries: [OrderedEntry] = []
        var barriers: [String] = []
    }

    /// Followers that ask whenever they like get everything behind their place, once, in order, unless they are told that it
    /// is not there.
    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func followersGetEverythingOnce(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let feed = RelayFeed {}
        feed.begin(behind: 10, of: "etcd")
        var told: [OrderedEntry] = []
        var barriers: [(place: Int, value: String)] = []
        var followers: [Follower] = []
        var place = 10
        // The first question makes it keep what comes.
        guard case .nothing = feed.answer(behind: place) else {
            throw Difference("Something stands behind the end.")
        }
        guard case .refused = feed.answer(behind: 5) else { throw Difference("It has what came before.") }
        var parts = 0
        for _ in 0..<300 {
            switch Int.random(in: 0..<10, using: &generator) {
            case 0..<4:
                place += Int.random(in: 1...3, using: &generator)
                let size = generator.oneIn(15) ? 600_000 : 20
                let entry = OrderedEntry(
                    place: place,
                    .proposal(
                        ProposalName(member: "kitchen", incarnation: 3, number: place),
                        [UInt8](repeating: UInt8(truncatingIfNeeded: place), count: size)))
                told.append(entry)
                feed.add(entry)
            case 4:
                place += 1
                barriers.append((place, "b \(place)"))
                feed.add(barrier: Array("b \(place)".utf8), at: place)
            case 5:
                place += 2
                feed.reach(place)
            case 6:
                let start = Int.random(in: 5...place, using: &generator)
                followers.append(Follower(place: start, start: start))
            default:
                guard let index = followers.indices.randomElement(using: &generator) else { continue }
                switch feed.answer(behind: followers[index].place) {
                case .part(let part):
                    #expect(RelayedPart(try JSON(parsing: Self.reply(part)).object!) == part)
                    #expect(part.place > followers[index].place && part.cluster == "etcd")
                    followers[index].entries += try #require(OrderedEntry.decode(all: part.entries))
                    followers[index].barriers += part.barriers
                    followers[index].place = part.place
                    parts += 1
                case .nothing: #expect(followers[index].place >= place)
                // It was too far behind what is kept.
                case .refused: followers.remove(at: index)
                }
            }
        }
        for follower in followers {
            let range = (follower.start + 1)..<(max(follower.start, follower.place) + 1)
            #expect(follower.entries == told.filter { range.contains($0.place) })
            #expect(follower.barriers == barriers.filter { range.contains($0.place) }.map(\.value))
        }
        #expect(parts > 10)
        feed.end()
        guard case .refused = feed.answer(behind: place) else {
            throw Difference("It passes on what it does not read.")
        }
        #expect(feed.nothing(behind: place) == nil)
    }

    private struct Difference: Error { init(_ words: String) { Issue.record("\(words)") } }

    private static func reply(_ part: RelayedPart) -> [UInt8] {
        Array(#"{"ok":true"#.utf8) + part.members + Array("}".utf8)
    }

    /// A part fits into a line, unless a place has more than that.
    @Test func partsFitIntoTheRoom() throws {
        let feed = RelayFeed {}
        feed.begin(behind: 0, of: "14841639068965178418")
        _ = feed.answer(behind: 0)
        for place in 1...200 {
            let size = place % 50 == 0 ? 9000 : 10 * place
            feed.add(
                OrderedEntry(
                    place: place,
                    .proposal(
                        ProposalName(member: "kitchen", incarnation: 3, number: place),
                        [UInt8](repeating: 7, count: size))))
            feed.add(barrier: Array("kitchen \"\(place)".utf8), at: place)
        }
        for room in [1000, 4096, 10_000] {
            var (place, parts, larger) = (0, 0, 0)
            while place < 200 {
                guard case .part(let part) = feed.answer(behind: place, room: room) else {
                    Issue.record("Nothing stands behind \(place).")
                    return
                }
                if part.members.count > room {
                    #expect(part.place == place + 1)
                    larger += 1
                }
                place = part.place
                parts += 1
            }
            #expect(room < 10_000 ? larger >= 4 : larger == 4)
            #expect(parts < 300_000 / room * 2, "\(parts) parts")
        }
    }

    /// A new reading is told from the one before.
    @Test func readingsAreToldApart() throws {
        let feed = RelayFeed {}
        feed.begin(behind: 10, of: "etcd")
        let first = try #require(feed.nothing(behind: 10)).reading
        feed.end()
        feed.begin(behind: 10, of: "etcd")
        #expect(feed.nothing(behind: 10)?.reading != first)
    }

    /// Whatever another member answers, it is a part or none.
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func anyReplyIsReadOrRefused(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let entry = OrderedEntry(place: 7, .ended(members: ["hall", "kitchen"]))
        let sample = Self.reply(
            RelayedPart(cluster: "1484", reading: 9, entries: entry.encoded, barriers: ["a 1"], place: 8))
        var (read, refused) = (0, 0)
        for _ in 0..<3000 {
            guard let reply = try? JSON(parsing: mutated(sample, using: &generator)).object,
                let part = RelayedPart(reply)
            else {
                refused += 1
                continue
            }
            #expect(part.place >= 0)
            if let entries = OrderedEntry.decode(all: part.entries) {
                #expect(zip(entries, entries.dropFirst()).allSatisfy { $0.place < $1.place })
            }
            read += 1
        }
        #expect(read > 20 && refused > 1000)
    }
}
