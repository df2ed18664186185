import BusCluster
import BusSystem
import EtcdLog

/// What somebody who is no member sees of a shared log: whether a bus has begun in it, and who is present.
struct SharedLogSight {
    let hasBus: Bool
    let members: [OrderedLogMember]

    /// How long etcd has to show it, in milliseconds. A server that has lost its leader finds another one sooner.
    private static let patience = 10_000

    /// Looks once. A barrier is written for it, as at the start of every member.
    ///
    /// - Throws: `inUse` with the reason where etcd does not answer.
    init(of settings: ClusterSettings, password: String) throws(StartFailure) {
        let bell = EventFD()
        let log: EtcdLog
        do throws(OrderedLogFailure) {
            log = try EtcdLog(settings.etcdSettings(password: password)) { bell.ring() }
        } catch {
            throw StartFailure(.configuration, error.message)
        }
        defer { log.close() }
        log.read(behind: 0, of: nil)
        var (hasBus, members): (Bool?, [OrderedLogMember]?)
        var reason = "No etcd answers."
        var asked = 0
        let end = MonotonicClock.milliseconds + Self.patience
        while MonotonicClock.milliseconds < end {
            for event in log.take() {
                switch event {
                case .attached:
                    asked += 1
                    log.barrier(asked)
                    log.listMembers()
                case .entry(let entry): if Self.saysSomething(entry) { hasBus = true }
                case .trimmedAway: hasBus = true
                case .barrier: hasBus = hasBus ?? false
                case .members(let present): members = present
                case .detached(let failure), .barrierFailed(_, let failure), .membersFailed(let failure):
                    reason = failure.message
                default: break
                }
            }
            if let hasBus, let members {
                (self.hasBus, self.members) = (hasBus, members)
                return
            }
            bell.wait(milliseconds: 100)
        }
        throw StartFailure(.inUse, reason)
    }

    /// Members that found no bus and stopped have left nothing but that they came.
    private static func saysSomething(_ entry: OrderedEntry) -> Bool {
        guard case .proposal(_, let bytes) = entry.content else { return false }
        return (try? ProposalContent(bytes).entries.isEmpty) != true
    }
}
