import BusCluster
import BusHTTP
import BusSystem

/// The thread that speaks to etcd: makes the owner's calls, and moves what is on its way.
final class EtcdWorker {
    private let mailbox: EtcdMailbox
    private let link: EtcdLink
    private let reading: EtcdReading
    private let membership: EtcdMembership
    private let calls: EtcdCalls
    /// When it ends, even if its membership has not; nil: not yet.
    private var endsAt: Int?

    /// How long it sleeps at most, in milliseconds: nothing is due then.
    private static let longestSleep = 10_000
    /// How long the end waits for a membership that is to end, in milliseconds.
    private static let timeToLeave = 1000

    init(
        _ settings: EtcdSettings, _ mailbox: EtcdMailbox, _ transfers: Transfers, _ feed: RelayFeed
    ) {
        let keys = EtcdKeys(bus: settings.bus)
        self.mailbox = mailbox
        link = EtcdLink(settings, keys, mailbox, transfers)
        reading = EtcdReading(
            link, keys, mailbox, RelayedReading(settings.relays) { transfers.wake() }, feed,
            deliveryTime: settings.times.delivery.milliseconds)
        membership = EtcdMembership(link, keys, mailbox, settings)
        calls = EtcdCalls(link, keys, mailbox, membership, reading)
        connect()
    }

    /// Who hears what from whom.
    private func connect() {
        link.onFound = { [unowned self] finding in
            reading.linkIsFound(finding)
            membership.linkIsFound()
        }
        link.onLost = { [unowned self] in reading.linkIsLost() }
        reading.onEntry = { [unowned self] entry in membership.heard(entry) }
        reading.onBarrier = { [unowned self] value in calls.heardBarrier(value) }
        reading.onDoubt = { [unowned self] in calls.check() }
        membership.onWritten = { [unowned self] place in reading.await(place) }
        membership.onBeat = { [unowned self] revision in reading.beat(revision) }
    }

    func work() {
        while true {
            for call in mailbox.takeCalls() { make(call) }
            link.transfers.run()
            let now = MonotonicClock.milliseconds
            if let endsAt, !membership.isLeaving || now >= endsAt {
                reading.linkIsLost()
                return link.transfers.cancelAll()
            }
            link.tick(now)
            reading.tick(now)
            membership.tick(now)
            link.transfers.wait(milliseconds: sleep(now))
        }
    }

    private func sleep(_ now: Int) -> Int {
        let deadlines = [link.deadline, reading.deadline, membership.deadline, endsAt].compactMap { $0 }
        return max(0, min(Self.longestSleep, (deadlines.min() ?? .max) - now))
    }

    private func make(_ call: EtcdMailbox.Call) {
        switch call {
        case .read(let place, let cluster, let number):
            calls.forgetBarriers()
            reading.begin(behind: place, of: cluster, reading: number)
        case .join(let name, let report): membership.join(as: name, report: report)
        case .report(let report): membership.report(report)
        case .leave: membership.leave()
        case .pass: membership.pass()
        case .resume(let name, let incarnation, let lease):
            membership.resume(as: name, incarnation: incarnation, lease: lease)
        case .end(let member, let incarnation): calls.end(member, incarnation: incarnation)
        case .propose(let name, let content): calls.propose(name, content)
        case .barrier(let number): calls.barrier(number)
        case .listMembers: calls.listMembers()
        case .trim(let place): calls.trim(through: place)
        case .close: endsAt = MonotonicClock.milliseconds + Self.timeToLeave
        }
    }
}
