import BusCommands
import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// The bus as it follows from the entries of the shared log, and from nothing else: whoever applies the same entries has
/// the same replica.
///
/// It decides what counts, and carries it out in a state machine. It knows no clock but those that proposals show, and
/// does not know which member it is part of.
package final class Replica {
    package let machine: StateMachine
    /// What entries mean.
    let commands: Commands
    var memory = SenderMemory()
    /// The operations that the present entry of a proposal has taken.
    var spent = 0
    /// What each role may do, kept while the rules stay the same.
    var knownGrants: [[String]: Grants] = [:]
    var knownRules: AccessRules?
    package let sink: any CommitSink
    let omitted: OmittedRules

    /// Nothing is nested more deeply in what a member has admitted.
    private static let depth = 1024

    let history: HistoryLimits
    var links: ChainLinks
    /// Those present.
    package internal(set) var members: [String: ReplicaMember] = [:]
    /// The epochs before this one, oldest first.
    package internal(set) var earlierEpochs: [String] = []
    var sessions = ReplicaSessions()
    /// The principal of the last entry: mostly that of the next one, too.
    var lastAsker: (text: [UInt8], member: String, principal: Principal)?
    /// Whether the bus has its states: a new one has none before somebody says in the log how it begins.
    package internal(set) var hasBegun: Bool

    /// - Parameters:
    ///   - machine: As it was before the first entry.
    ///   - isNew: The bus may not have begun yet: the machine is blank, or has the history that it is to begin with.
    ///   - sink: Makes the commits; nil: commits without subscribers.
    package init(
        _ machine: StateMachine, isNew: Bool = false, sink: (any CommitSink)? = nil,
        history: HistoryLimits = HistoryLimits(), omitting omitted: OmittedRules = []
    ) {
        self.machine = machine
        hasBegun = !isNew
        if machine.revision == 0 { machine.followsParts = false }
        self.sink = sink ?? PlainCommits(machine)
        self.omitted = omitted
        self.history = history
        links = ChainLinks(most: history.links)
        commands = Commands(
            machine, RequestReader(depth: Self.depth), remembersKeys: !omitted.contains(.keys))
    }

    /// Where it stands in the log.
    package var link: ChainLink { links.last }

    /// What a member that has this replica knows.
    package var evidence: Evidence { Evidence(epoch: machine.epoch, link: link) }

    /// When something is due, in milliseconds since 1970; `Int.max`: never, as it stands.
    package var nextDue: Int { min(machine.nextDue, sessions.nextDeadline) }

    /// Applies the next entry.
    ///
    /// - Returns: nil for one that is about members' reports, which is no part of the history.
    package func apply(_ entry: OrderedEntry) throws(ReplicaStop) -> AppliedEntry? {
        precondition(entry.place > link.place, "Entries are applied in the order of their places.")
        guard let input = Self.input(of: entry, behind: link.input) else { return nil }
        var effects = Effects()
        switch entry.content {
        case .reported: return nil
        case .joined(let member, _):
            // The log tells of the end first; a replica does not depend on it.
            if members[member] != nil { endMember(member) }
            members[member] = ReplicaMember(incarnation: entry.place)
        case .ended(let ended):
            for member in ended {
                if !omitted.contains(.endsOfMembers) { endMember(member) }
                members[member] = nil
            }
        case .proposal(let name, let bytes):
            try apply(name, bytes, at: entry.place, input, &effects)
        }
        let link = ChainLink(place: entry.place, input: input, output: output(behind: link.output, effects))
        links.append(link)
        return effects.applied(link)
    }

    /// The link of the input's chain with an entry; nil for one that is no part of the history.
    static func input(of entry: OrderedEntry, behind before: ChainHash) -> ChainHash? {
        let kind: Int
        let names: [String]
        var numbers: [Int] = []
        var bytes: [UInt8] = []
        switch entry.content {
        case .reported: return nil
        // What the member reports is not: readers may see a later report.
        case .joined(let name, _): (kind, names) = (1, [name])
        case .ended(let ended): (kind, names) = (2, ended)
        case .proposal(let name, let content):
            (kind, names) = (3, [name.member])
            numbers = [name.incarnation, name.number]
            bytes = content
        }
        return before.next { digest in
            digest.add(entry.place)
            digest.add(kind)
            digest.add(names.count)
            for name in names {
                digest.add(name.utf8.count)
                digest.add(Array(name.utf8))
            }
            for number in numbers { digest.add(number) }
            digest.add(bytes.count)
            digest.add(bytes)
        }
    }

    private func output(behind before: ChainHash, _ effects: Effects) -> ChainHash {
        // What a machine brings along is compared when the bus begins with it.
        if !hasBegun { return before.next { $0.add(0) } }
        return before.next { digest in
            sink.takeOutput { output in
                digest.add(output.count)
                digest.add(output)
            }
            effects.add(to: &digest)
            digest.add(machine.time)
            digest.add(Array(machine.epoch.utf8))
        }
    }

    /// What an entry of the log has done besides commits.
    struct Effects {
        var outcomes: [CommandOutcome] = []
        var spent: [Int] = []
        var void: AppliedEntry.Void?
        var evidence: (link: ChainLink, AppliedEntry.Comparison)?
        var epoch: String?
        var clockAhead = 0

        func applied(_ link: ChainLink) -> AppliedEntry {
            AppliedEntry(
                link: link, outcomes: outcomes, spent: spent, void: void, evidence: evidence, epoch: epoch,
                clockAhead: clockAhead)
        }

        /// What the outcomes are: they are not all commits.
        func add(to digest: inout SHA256) {
            digest.add(outcomes.count)
            for outcome in outcomes {
                switch outcome {
                case .done(let reply):
                    for number in [reply.revision, reply.matched, reply.changed, reply.due ?? -1] {
                        digest.add(number)
                    }
                    digest.add((reply.created == true ? 1 : 0) + (reply.isDuplicate ? 2 : 0))
                case .refused(let error): digest.add(Array(error.code.rawValue.utf8))
                }
            }
        }
    }
}

/// A member that is present, as every replica knows it.
package struct ReplicaMember: Equatable, Sendable {
    /// The place at which it joined.
    package let incarnation: Int
    /// Of its last proposal that counted; 0 before the first.
    package internal(set) var number = 0
    /// What its clock showed then, in milliseconds since 1970; nil before the first.
    package internal(set) var clock: Int?
}
