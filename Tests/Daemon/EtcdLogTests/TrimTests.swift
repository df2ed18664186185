import BusCluster
import EtcdLog
import TestEtcd
import Testing

/// What is left when the log was trimmed.
@Suite(.enabled(if: TestEtcd.isInstalled, Comment(rawValue: TestEtcd.isMissing)))
struct TrimTests {
    @Test func trimmedLogSaysSoAndGoesOn() throws {
        let etcd = try TestEtcd()
        let (owner, other) = (try LogOwner(etcd, bus: "home"), try LogOwner(etcd, bus: "home"))
        owner.read()
        try owner.join("kitchen")
        try other.join("hall")
        let places = try (0..<10).map { try owner.proposeNext([UInt8($0)]) }
        other.log.leave()
        let end = try owner.waitEnded("hall")
        let last = try owner.proposeNext([10])

        func trim(_ place: Int) throws {
            owner.log.trim(through: place)
            let through = try owner.wait("trimmed") {
                if case .trimmed(let through) = $0 { through } else { nil }
            }
            #expect(through == place)
        }
        func trimmed(behind place: Int) throws -> Int? {
            let reader = try LogOwner(etcd, bus: "home")
            reader.read(behind: place)
            reader.log.barrier(1)
            return try reader.wait("end of the reading") { event -> Int?? in
                switch event {
                case .trimmedAway(let through): .some(through)
                case .barrier: .some(nil)
                default: nil
                }
            }
        }
        try trim(places[4])
        #expect(try trimmed(behind: 0) == places[4])
        #expect(try trimmed(behind: places[3]) == places[4])
        #expect(try trimmed(behind: places[4]) == nil)
        // Behind the entry before an end: the end itself is what is gone.
        try trim(end)
        #expect(try trimmed(behind: places[9]) == end)
        #expect(try trimmed(behind: end - 1) == end)
        #expect(try trimmed(behind: end) == nil)
        // Somebody else may have trimmed further.
        try trim(places[0])
        // Numbers stay known, whatever was trimmed.
        try trim(last)
        #expect(try owner.propose(11, [10]) == .alreadyThere(place: last))
        #expect(try owner.propose(3, [2]) == .alreadyThere(place: last))
        try owner.proposeNext([11])
        let reader = try LogOwner(etcd, bus: "home")
        reader.read(behind: last)
        try reader.catchUp()
        #expect(reader.entries.proposals == [[11]])
        // What does not exist yet can't be trimmed.
        owner.log.trim(through: 1 << 40)
        _ = try owner.wait("failure") { event -> Bool? in if case .trimFailed = event { true } else { nil } }
    }
}
