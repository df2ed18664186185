import BusCluster

/// The calls that are made once: proposals, barriers, lists, ends of others, trims.
final class EtcdCalls {
    private let link: EtcdLink
    private let keys: EtcdKeys
    private let mailbox: EtcdMailbox
    private let membership: EtcdMembership
    private let reading: EtcdReading

    /// Tells our barriers from others': the process and the moment, and a number of its own for each log.
    private let mark: String
    /// Barriers that wait to be written; those that are on their way; those that are written up to a number.
    private var wanted: [Int] = []
    private var isWriting = false
    private var written: [(attempt: Int, numbers: [Int])] = []
    private var attempt = 0

    init(
        _ link: EtcdLink, _ keys: EtcdKeys, _ mailbox: EtcdMailbox, _ membership: EtcdMembership,
        _ reading: EtcdReading
    ) {
        self.link = link
        self.keys = keys
        self.mailbox = mailbox
        self.membership = membership
        self.reading = reading
        mark = String(UInt64.random(in: .min ... .max), radix: 16)
    }

    // MARK: - Proposals

    func propose(_ name: ProposalName, _ content: [UInt8]) {
        let key = keys.log(name.member, name.incarnation)
        let member = keys.member(name.member)
        guard let lease = membership.lease(of: name) else { return mailbox.put(.proposed(name, .refused)) }
        let request = EtcdRequest.transaction(
            if: [.version(key, name.number - 1), .made(member, at: name.incarnation)],
            [.put(key, content, lease: lease)])
        link.call(request) { [weak self] result in
            guard let self else { return }
            do throws(EtcdFault) {
                let reply = try result.get()
                guard reply.flag("succeeded") else { return findOut(name) }
                conclude(name, .acknowledged(place: try reply.revision()))
            } catch {
                conclude(
                    name,
                    error.kind == .leaseGone
                        ? .refused : error.mayHappen ? .unknown(error.failure) : .notProposed(error.failure))
            }
        }
    }

    /// A condition does not hold. Which one is asked only now: hardly any proposal comes to this, and all would pay for it.
    private func findOut(_ name: ProposalName) {
        let request = EtcdRequest.transaction(
            if: [],
            [
                .get(keys.log(name.member, name.incarnation), withValue: false),
                .get(keys.member(name.member), withValue: false),
            ])
        link.call(request) { [weak self] result in
            guard let self else { return }
            do throws(EtcdFault) {
                conclude(name, try Self.outcome(of: name, try result.get()))
            } catch {
                conclude(name, .unknown(error.failure))
            }
        }
    }

    private func conclude(_ name: ProposalName, _ outcome: ProposalOutcome) {
        mailbox.put(.proposed(name, outcome))
        switch outcome {
        case .acknowledged(let place), .alreadyThere(let place): reading.await(place)
        case .refused: membership.isLost(name.incarnation)
        case .notProposed, .unknown: break
        }
    }

    private static func outcome(
        of name: ProposalName, _ reply: EtcdReply
    ) throws(EtcdFault) -> ProposalOutcome {
        let last = try reply.keys(ofOperation: 0).first
        if let last, last.version >= name.number { return .alreadyThere(place: last.modified) }
        guard try reply.keys(ofOperation: 1).first?.created == name.incarnation else { return .refused }
        return .notProposed(
            OrderedLogFailure(
                .unexpected,
                "Proposal \(name.number) of \(name.member) comes after \(last?.version ?? 0): propose the next one."
            ))
    }

    // MARK: - Barriers

    func barrier(_ number: Int) {
        wanted.append(number)
        writeBarrier()
    }

    /// Writes something, to see whether the watch delivers it.
    func check() {
        if !isWriting { write([]) }
    }

    /// Another reading begins: nobody waits for what was asked before.
    func forgetBarriers() {
        wanted = []
        written = []
    }

    /// One at a time: those that come meanwhile share the next one.
    private func writeBarrier() {
        guard !isWriting, !wanted.isEmpty else { return }
        let numbers = wanted
        wanted = []
        write(numbers)
    }

    private func write(_ numbers: [Int]) {
        isWriting = true
        attempt += 1
        let attempt = attempt
        written.append((attempt, numbers))
        link.call(.put(keys.barrier, Array("\(mark) \(attempt)".utf8))) { [weak self] result in
            guard let self else { return }
            isWriting = false
            do throws(EtcdFault) {
                reading.await(try (try result.get()).revision())
            } catch {
                // It may have been delivered all the same.
                if let place = written.firstIndex(where: { $0.attempt == attempt }) {
                    for number in written.remove(at: place).numbers {
                        reading.tellBarrier(.barrierFailed(number, error.failure))
                    }
                }
            }
            writeBarrier()
        }
    }

    /// The reading has come to a barrier: ours stand behind everything that was asked for before.
    func heardBarrier(_ value: [UInt8]) {
        let words = String(decoding: value, as: UTF8.self).split(separator: " ")
        guard words.count == 2, words[0] == mark, let attempt = Int(words[1]) else { return }
        while let first = written.first, first.attempt <= attempt {
            written.removeFirst()
            for number in first.numbers { reading.tellBarrier(.barrier(number)) }
        }
    }

    // MARK: - The rest

    func listMembers() {
        link.call(.range(prefix: keys.members)) { [keys, mailbox] result in
            do throws(EtcdFault) {
                var members: [OrderedLogMember] = []
                for key in try result.get().keys() {
                    guard case .member(let name)? = keys.meaning(of: key.key) else { continue }
                    members.append(
                        OrderedLogMember(name: name, incarnation: key.created, report: key.value))
                }
                mailbox.put(.members(members))
            } catch {
                mailbox.put(.membersFailed(error.failure))
            }
        }
    }

    func end(_ member: String, incarnation: Int) {
        let key = keys.member(member)
        let request = EtcdRequest.transaction(
            if: [.made(key, at: incarnation)], [.delete(key), .delete(keys.log(member, incarnation))])
        link.call(request) { _ in }
    }

    func trim(through place: Int) {
        link.call(.compaction(at: place)) { [mailbox] result in
            switch result {
            case .success: mailbox.put(.trimmed(through: place))
            // Somebody has compacted further.
            case .failure(let fault) where fault.kind == .compacted:
                mailbox.put(.trimmed(through: place))
            case .failure(let fault): mailbox.put(.trimFailed(fault.failure))
            }
        }
    }
}
