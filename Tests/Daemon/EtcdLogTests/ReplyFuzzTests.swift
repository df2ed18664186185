import BusCluster
import BusJSON
import EtcdLog
import Foundation
import TestSupport
import Testing

/// Answers of an etcd are bytes from outside: whatever they are, there is a fault or a fact.
@Suite struct ReplyFuzzTests {
    private static let keys = EtcdKeys(bus: "home")

    private static func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    /// As an etcd 3.4 writes them.
    private static let samples: [String] = {
        let header =
            "\"header\":{\"cluster_id\":\"14841639068965178418\",\"revision\":\"9\",\"raft_term\":\"2\"}"
        let log = base64("/fluxbus/home/log/kitchen-3/"), member = base64("/fluxbus/home/members/kitchen")
        let proposal = base64("/fluxbus/home/log/kitchen-3"), barrier = base64("/fluxbus/home/barrier")
        return [
            "{\(header),\"succeeded\":true,\"responses\":[{\"response_put\":{\"header\":{\"revision\":\"9\"}}}]}",
            "{\(header),\"responses\":[{\"response_range\":{\(header),\"kvs\":[{\"key\":\"\(member)\",\"create_revision\":\"3\",\"mod_revision\":\"5\",\"version\":\"2\",\"value\":\"aGk=\",\"lease\":\"77\"}],\"count\":\"1\"}}]}",
            "{\(header),\"kvs\":[{\"key\":\"\(log)\",\"mod_revision\":\"4\"}],\"count\":\"1\"}",
            "{\"result\":{\(header),\"ID\":\"7587853823614563594\",\"TTL\":\"10\"}}",
            "{\(header),\"ID\":\"7587853823614563594\",\"TTL\":\"10\"}",
            "{\"result\":{\(header),\"created\":true}}",
            "{\"result\":{\(header),\"canceled\":true,\"compact_revision\":\"8\"}}",
            "{\"result\":{\(header),\"canceled\":true,\"cancel_reason\":\"permission denied\"}}",
            "{\"result\":{\(header),\"fragment\":true,\"events\":[{\"kv\":{\"key\":\"\(proposal)\",\"create_revision\":\"4\",\"mod_revision\":\"5\",\"version\":\"2\",\"value\":\"AAEC\",\"lease\":\"77\"}},{\"kv\":{\"key\":\"\(barrier)\",\"create_revision\":\"2\",\"mod_revision\":\"6\",\"version\":\"9\",\"value\":\"YSAx\"}}]}}",
            "{\"result\":{\(header),\"events\":[{\"type\":\"DELETE\",\"kv\":{\"key\":\"\(member)\",\"mod_revision\":\"7\"}},{\"type\":\"DELETE\",\"kv\":{\"key\":\"\(proposal)\",\"mod_revision\":\"7\"}}]}}",
            "{\"result\":{\(header)}}",
            "{\"error\":{\"grpc_code\":14,\"http_code\":503,\"message\":\"etcdserver: no leader\",\"http_status\":\"Service Unavailable\"}}",
            "{\"error\":\"etcdserver: requested lease not found\",\"message\":\"etcdserver: requested lease not found\",\"code\":5}",
        ]
    }()

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func anyBytesAreReadOrRefused(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var (facts, faults) = (0, 0)
        var reader = WatchReader(Self.keys, endpoint: "http://etcd", behind: 1)
        for round in 0..<3000 {
            if round % 4 == 0 { reader = WatchReader(Self.keys, endpoint: "http://etcd", behind: 1) }
            let sample = Array((Self.samples.randomElement(using: &generator) ?? "").utf8)
            let line =
                generator.oneIn(20) ? randomSoup(using: &generator) : mutated(sample, using: &generator)
            let before = reader.place
            do throws(EtcdFault) {
                let told = try reader.take(line)
                facts += told.count
                // Places grow, whatever is said.
                let places = told.compactMap { if case .entry(let entry) = $0 { entry.place } else { nil } }
                #expect(zip([before] + places, places).allSatisfy { $0 < $1 })
                #expect(reader.place >= (places.last ?? before))
            } catch {
                faults += 1
                check(error)
            }
            check(EtcdFault("http://etcd", status: Int.random(in: 0...600, using: &generator), body: line))
            guard let reply = try? EtcdReply("http://etcd", line) else { continue }
            _ = try? reply.keys()
            _ = try? reply.keys(ofOperation: Int.random(in: 0...2, using: &generator))
            _ = try? reply.revision()
            if let number = try? reply.number("TTL") { #expect(number >= 0) }
        }
        #expect(facts > 50 && faults > 1000)
    }

    /// A sentence, without what could spoil a journal.
    private func check(_ fault: EtcdFault) {
        let message = fault.failure.message
        #expect(message.hasSuffix(".") && message.utf8.count < 600, "\(message)")
        #expect(message.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }, "\(message)")
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func anyCutIntoMessagesTellsTheSame(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<50 {
            let (changes, expected) = history(using: &generator)
            var reader = WatchReader(Self.keys, endpoint: "http://etcd", behind: 1)
            var cutter = LineCutter(limit: 1 << 16)
            var told: [OrderedEntry] = []
            let bytes = messages(changes, using: &generator)
            var place = 0
            while place < bytes.count {
                let next = min(bytes.count, place + Int.random(in: 1...200, using: &generator))
                let lines = try #require(bytes[place..<next].withUnsafeBytes { cutter.take($0) })
                for line in lines {
                    for case .entry(let entry) in try reader.take(line) { told.append(entry) }
                }
                place = next
            }
            #expect(told == expected)
        }
    }

    /// Changes as JSON, each with its revision, and the entries that they mean.
    private func history(using generator: inout SeededGenerator) -> ([(Int, String)], [OrderedEntry]) {
        var changes: [(Int, String)] = []
        var entries: [OrderedEntry] = []
        var revision = 1
        for number in 1...Int.random(in: 1...30, using: &generator) {
            revision += Int.random(in: 1...3, using: &generator)
            func change(_ kind: String, _ key: String, _ more: String = "") {
                changes.append(
                    (
                        revision,
                        "{\(kind)\"kv\":{\"key\":\"\(Self.base64(key))\",\"mod_revision\":\"\(revision)\"\(more)}}"
                    ))
            }
            switch Int.random(in: 0..<4, using: &generator) {
            case 0:
                change(
                    "", "/fluxbus/home/log/a-b-7",
                    ",\"create_revision\":\"2\",\"version\":\"\(number)\",\"value\":\"\(Self.base64("x\(number)"))\""
                )
                let name = ProposalName(member: "a-b", incarnation: 7, number: number)
                entries.append(OrderedEntry(place: revision, .proposal(name, Array("x\(number)".utf8))))
            case 1:
                change("", "/fluxbus/home/members/a", ",\"create_revision\":\"\(revision)\"")
                entries.append(OrderedEntry(place: revision, .joined(member: "a", report: [])))
            case 2:
                let names = ["a", "b", "c"].prefix(Int.random(in: 1...3, using: &generator))
                for name in names { change("\"type\":\"DELETE\",", "/fluxbus/home/members/\(name)") }
                change("\"type\":\"DELETE\",", "/fluxbus/home/log/a-2")
                entries.append(OrderedEntry(place: revision, .ended(members: Array(names))))
            default: change("", "/fluxbus/home/barrier", ",\"value\":\"\(Self.base64("0 1"))\"")
            }
        }
        return (changes, entries)
    }

    /// The changes in messages, and in fragments of messages, of any length; some come twice, as after a reconnection.
    private func messages(_ changes: [(Int, String)], using generator: inout SeededGenerator) -> [UInt8] {
        var text = ""
        var place = 0
        while place < changes.count {
            let next = min(changes.count, place + Int.random(in: 1...5, using: &generator))
            // A revision is cut by fragments only.
            let isCut = next < changes.count && changes[next].0 == changes[next - 1].0
            let isFragment = isCut || generator.oneIn(3)
            let events = changes[place..<next].map(\.1).joined(separator: ",")
            text +=
                "{\"result\":{\"header\":{\"revision\":\"1\"},\(isFragment ? "\"fragment\":true," : "")\"events\":[\(events)]}}\n"
            place = next
        }
        return Array((text + "{\"result\":{\"header\":{\"revision\":\"1\"}}}\n").utf8)
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func base64IsWhatFoundationReadsAndWrites(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for count in 0..<200 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let writer = ByteWriter()
            bytes.withUnsafeBytes { Base64.append($0, to: writer) }
            #expect(writer.text == Data(bytes).base64EncodedString())
            #expect(Base64.decode(writer.text) == bytes)
            let changed = String(decoding: mutated(Array(writer.text.utf8), using: &generator), as: UTF8.self)
            if let read = Base64.decode(changed) {
                #expect(Data(base64Encoded: changed).map { Array($0) } == read, "\(changed)")
            }
        }
    }

    @Test func keysMeanWhatTheyAreMadeFor() {
        let keys = Self.keys
        #expect(keys.meaning(of: Array(keys.barrier.utf8)) == .barrier)
        #expect(keys.meaning(of: Array(keys.member("a-1").utf8)) == .member("a-1"))
        #expect(keys.meaning(of: Array(keys.log("a-1", 7).utf8)) == .log(member: "a-1", incarnation: 7))
        for other in [
            "", "/fluxbus/home", "/fluxbus/other/barrier", "/fluxbus/home/members/",
            "/fluxbus/home/members/A",
            "/fluxbus/home/log/a", "/fluxbus/home/log/a-", "/fluxbus/home/log/a-x", "/fluxbus/home/log/-1",
            "/fluxbus/home/log/a-0",
        ] {
            #expect(keys.meaning(of: Array(other.utf8)) == nil, "\(other)")
        }
    }

    @Test func longLineIsRefused() {
        var cutter = LineCutter(limit: 10)
        func take(_ text: String) -> [[UInt8]]? { Array(text.utf8).withUnsafeBytes { cutter.take($0) } }
        #expect(take("0123456789\nab") == [Array("0123456789".utf8)])
        #expect(take("cdefghij\n") == [Array("abcdefghij".utf8)])
        #expect(take("01234") == [])
        #expect(take("567890") == nil)
    }

    /// What somebody has put there by hand is longer than a copy has room for.
    @Test func whatIsTooLongIsLeftOut() throws {
        func told(_ key: String, _ length: Int) throws -> [UInt8] {
            var reader = WatchReader(Self.keys, endpoint: "http://etcd", behind: 1)
            let value = Self.base64(String(repeating: "x", count: length))
            let line =
                "{\"result\":{\"header\":{\"revision\":\"9\"},\"events\":[{\"kv\":{\"key\":\"\(Self.base64(key))\",\"create_revision\":\"4\",\"mod_revision\":\"5\",\"version\":\"2\",\"value\":\"\(value)\"}}]}}"
            var entries: [UInt8] = []
            for case .entry(let entry) in try reader.take(Array(line.utf8)) { entries += entry.encoded }
            #expect(reader.place == 5)
            return entries
        }
        for (key, most) in [
            ("/fluxbus/home/members/kitchen", OrderedLogLimits.report),
            ("/fluxbus/home/log/kitchen-3", OrderedLogLimits.proposal),
        ] {
            let whole = try told(key, most)
            #expect(whole.count > most && OrderedEntry.decode(all: whole)?.count == 1, "\(key)")
            let cut = try told(key, most + 1)
            #expect(cut.count < 100 && OrderedEntry.decode(all: cut) != nil, "\(key)")
        }
    }
}
