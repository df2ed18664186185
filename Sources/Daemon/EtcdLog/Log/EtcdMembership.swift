import BusCluster
import BusSystem

/// Our own membership: the lease, and the key that goes with it.
final class EtcdMembership {
    private enum State {
        case none
        /// Becoming a member, with a lease once there is one.
        case joining(lease: Int?)
        case present(lease: Int, incarnation: Int)
        /// The lease is to end.
        case leaving(lease: Int, incarnation: Int?)
    }

    private let link: EtcdLink
    private let keys: EtcdKeys
    private let mailbox: EtcdMailbox
    private let leaseSeconds: Int
    /// Between signs of life: two may fail before the lease ends.
    private let beat: Int

    private var state = State.none
    private var name = ""
    private var report: [UInt8] = []
    private var reportIsDue = false
    /// Whether a request about the state is on its way.
    private var isAsking = false
    private var isReporting = false
    private var isBeating = false
    private var nextBeat = 0
    private let keepsAlive: Bool
    /// When what has failed is tried again, if no other server is found before.
    private var retryAt: Int?

    /// A key of ours stands at this place.
    var onWritten: ((Int) -> Void)?
    /// The store has come this far.
    var onBeat: ((Int) -> Void)?

    init(_ link: EtcdLink, _ keys: EtcdKeys, _ mailbox: EtcdMailbox, _ settings: EtcdSettings) {
        self.link = link
        self.keys = keys
        self.mailbox = mailbox
        // etcd counts whole seconds.
        leaseSeconds = max(1, (settings.lease.milliseconds + 999) / 1000)
        beat = leaseSeconds * 1000 / 3
        keepsAlive = settings.keepsAlive
    }

    /// Whether its lease is still to be ended.
    var isLeaving: Bool { if case .leaving = state { true } else { false } }

    // MARK: - Calls

    func join(as name: String, report: [UInt8]) {
        switch state {
        // What was given up is no membership, and its lease ends.
        case .none, .leaving(_, nil): break
        case .joining, .present, .leaving:
            preconditionFailure("A member joins once, and again only after its lease is lost.")
        }
        self.name = name
        self.report = report
        reportIsDue = false
        state = .joining(lease: nil)
        goOn()
    }

    func report(_ report: [UInt8]) {
        guard case .present = state else { return }
        self.report = report
        reportIsDue = true
        sendReport()
    }

    func leave() {
        switch state {
        case .none, .leaving: return
        case .joining(let lease):
            // A grant that is on its way brings a lease that nobody keeps: it ends.
            guard let lease else { return state = .none }
            state = .leaving(lease: lease, incarnation: nil)
        case .present(let lease, let incarnation):
            state = .leaving(lease: lease, incarnation: incarnation)
        }
        goOn()
    }

    /// Renews the lease, then reports it: the process that takes it over has its full duration.
    func pass() {
        guard case .present(let lease, _) = state, link.isLive else {
            return mailbox.put(.passed(lease: nil))
        }
        link.call(.keepAlive(lease)) { [mailbox] result in
            do throws(EtcdFault) {
                let isThere = try result.get().streamed().number("TTL") > 0
                mailbox.put(.passed(lease: isThere ? lease : nil))
            } catch {
                mailbox.put(.passed(lease: nil))
            }
        }
    }

    /// Sends no `joined` event: the process that resumes a membership knows that it has one.
    func resume(as name: String, incarnation: Int, lease: Int) {
        guard case .none = state else { preconditionFailure("A member is resumed before anything else.") }
        self.name = name
        (state, nextBeat) = (.present(lease: lease, incarnation: incarnation), 0)
    }

    /// What a proposal has to go with; nil: the incarnation is known to have ended.
    func lease(of proposal: ProposalName) -> Int? {
        guard case .present(let lease, proposal.incarnation) = state, proposal.member == name else {
            return nil
        }
        return lease
    }

    /// An entry of the log: our own end, maybe.
    func heard(_ entry: OrderedEntry) {
        guard case .ended(let members) = entry.content, members.contains(name) else { return }
        isLost(through: entry.place)
    }

    /// etcd says that this incarnation has ended.
    func isLost(_ incarnation: Int) { isLost(through: incarnation) }

    private func isLost(through place: Int) {
        switch state {
        case .present(let lease, let incarnation) where incarnation <= place:
            lose(incarnation)
            // The key is gone, whoever took it; the lease may still run.
            link.call(.revoke(lease)) { _ in }
        case .leaving(_, let incarnation?) where incarnation <= place: lose(incarnation)
        default: break
        }
    }

    private func lose(_ incarnation: Int) {
        state = .none
        reportIsDue = false
        mailbox.put(.leaseLost(incarnation: incarnation))
    }

    // MARK: - Steps

    func linkIsFound() {
        goOn()
        sendReport()
        if case .present = state { nextBeat = 0 }
    }

    var deadline: Int? {
        guard link.isLive else { return nil }
        guard case .present = state, keepsAlive, !isBeating else { return retryAt }
        return min(nextBeat, retryAt ?? nextBeat)
    }

    func tick(_ now: Int) {
        if let retryAt, retryAt <= now {
            self.retryAt = nil
            goOn()
            sendReport()
        }
        if case .present(let lease, let incarnation) = state, keepsAlive, !isBeating, link.isLive,
            nextBeat <= now
        {
            keepAlive(lease, incarnation)
        }
    }

    /// Does what the state asks for next. What fails with its server is done again with the next one.
    private func goOn() {
        guard link.isLive, !isAsking else { return }
        switch state {
        case .none, .present: break
        case .joining(nil):
            ask(.grant(seconds: leaseSeconds)) { (member, reply) throws(EtcdFault) in
                try member.granted(reply)
            }
        case .joining(let lease?):
            ask(joining(lease)) { (member, reply) throws(EtcdFault) in try member.answered(reply, lease) }
        case .leaving(let lease, _): ask(.revoke(lease)) { member, _ in member.left() }
        }
    }

    private func ask(
        _ request: EtcdRequest, _ next: @escaping (EtcdMembership, EtcdReply) throws(EtcdFault) -> Void
    ) {
        isAsking = true
        link.call(request) { [weak self] result in
            guard let self else { return }
            isAsking = false
            do throws(EtcdFault) {
                try next(self, try result.get())
                goOn()
            } catch {
                failed(error)
            }
        }
    }

    private func failed(_ fault: EtcdFault) {
        guard fault.kind == .leaseGone else { return retryAt = MonotonicClock.milliseconds + min(beat, 1000) }
        switch state {
        case .joining: state = .joining(lease: nil)
        case .leaving: left()
        case .none, .present: break
        }
        goOn()
    }

    private func granted(_ reply: EtcdReply) throws(EtcdFault) {
        let lease = try reply.number("ID")
        if case .joining(nil) = state { state = .joining(lease: lease) }
    }

    /// One of a name: the key must not be there.
    private func joining(_ lease: Int) -> EtcdRequest {
        let key = keys.member(name)
        return .transaction(
            if: [.made(key, at: 0)], [.put(key, report, lease: lease)],
            otherwise: [.get(key, withValue: true)])
    }

    private func answered(_ reply: EtcdReply, _ lease: Int) throws(EtcdFault) {
        guard case .joining(lease?) = state else { return }
        var place = try reply.revision()
        if !reply.flag("succeeded") {
            guard let key = try reply.keys(ofOperation: 0).first else {
                throw .unexpected(reply.endpoint, "a key that is there and is not")
            }
            guard key.lease == lease else {
                state = .none
                mailbox.put(
                    .nameTaken(
                        by: OrderedLogMember(name: name, incarnation: key.created, report: key.value),
                        lease: leaseSeconds * 1000))
                return link.call(.revoke(lease)) { _ in }
            }
            // The answer to an earlier attempt was lost.
            place = key.created
        }
        state = .present(lease: lease, incarnation: place)
        nextBeat = MonotonicClock.milliseconds + beat
        mailbox.put(.joined(incarnation: place))
        onWritten?(place)
    }

    private func left() {
        guard case .leaving(_, let incarnation) = state else { return }
        if let incarnation { lose(incarnation) } else { state = .none }
    }

    private func keepAlive(_ lease: Int, _ incarnation: Int) {
        isBeating = true
        nextBeat = MonotonicClock.milliseconds + beat
        link.call(.keepAlive(lease)) { [weak self] result in
            guard let self else { return }
            isBeating = false
            do throws(EtcdFault) {
                let reply = try result.get().streamed()
                if try reply.number("TTL") == 0 { return isLost(incarnation) }
                onBeat?(try reply.revision())
            } catch {
                if error.kind == .leaseGone { return isLost(incarnation) }
                nextBeat = min(nextBeat, MonotonicClock.milliseconds + min(beat, 1000))
            }
        }
    }

    private func sendReport() {
        guard case .present(let lease, let incarnation) = state, reportIsDue, !isReporting, link.isLive else {
            return
        }
        (reportIsDue, isReporting) = (false, true)
        let key = keys.member(name)
        let request = EtcdRequest.transaction(
            if: [.made(key, at: incarnation)], [.put(key, report, lease: lease)])
        link.call(request) { [weak self] result in
            guard let self else { return }
            isReporting = false
            do throws(EtcdFault) {
                let reply = try result.get()
                guard reply.flag("succeeded") else { return isLost(incarnation) }
                onWritten?(try reply.revision())
                sendReport()
            } catch {
                if error.kind == .leaseGone { return isLost(incarnation) }
                reportIsDue = true
                retryAt = MonotonicClock.milliseconds + min(beat, 1000)
            }
        }
    }
}
