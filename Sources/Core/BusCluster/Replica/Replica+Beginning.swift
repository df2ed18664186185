import BusJSON
import BusMachine
import BusProtocol

/// How a bus begins: the first member that finds no bus in the log says so in it, together with what decides outcomes.
/// Either there is nothing yet, or that member brings the history of its own machine, which all others need as a snapshot.
package struct BusBeginning: Equatable, Sendable {
    /// The UUID of the history.
    package let epoch: String
    package let revision: Int
    /// The digest of the states; that of no states, where there is nothing yet.
    package let digest: String

    package init(epoch: String, revision: Int, digest: String) {
        self.epoch = epoch
        self.revision = revision
        self.digest = digest
    }

    package var json: JSON {
        ["epoch": .string(epoch), "revision": .int(revision), "digest": .string(digest)]
    }

    /// As an entry's text says it; nil where it says nothing of a beginning, or what none can be.
    init?(_ text: [UInt8]) {
        guard let begin = (try? JSON(parsing: text))?.object?["begin"]?.object,
            let epoch = begin["epoch"]?.string, 1...ClusterLimits.epoch ~= epoch.utf8.count,
            let revision = begin["revision"]?.int, revision >= 0, let digest = begin["digest"]?.string
        else { return nil }
        self.init(epoch: epoch, revision: revision, digest: digest)
    }
}

extension Replica {
    /// Stops before a proposal by which the bus begins with what is not here.
    func requireBeginning(of content: ProposalContent, at place: Int) throws(ReplicaStop) {
        for case .configure(let text) in content.entries.lazy.map(\.command) {
            guard let beginning = BusBeginning(text) else { continue }
            // States come from a copy; whoever has them has the same chain up to there.
            let isOfThisChain = beginning.revision == 0 || isKnown(content.evidence.link)
            let isHere =
                hasBegun
                || beginning.revision == machine.revision
                    && (beginning.revision == 0
                        ? machine.epoch.isEmpty
                        : machine.epoch == beginning.epoch && machine.stateDigest == beginning.digest)
            guard isHere, isOfThisChain else { throw .otherBeginning(place: place) }
            return
        }
    }

    /// The bus is to start over, behind a place of the log, with what is here: of the log before nothing is left that goes on
    /// from what any member has. Its epoch follows from the chain that ends here, so that all who have the same of it choose
    /// the same.
    package func beginAnew(behind place: Int) {
        precondition(hasBegun, "What starts over has begun before.")
        hasBegun = false
        let old = machine.epoch
        machine.epoch =
            link.input.next { digest in
                digest.add(place)
                digest.add(Array(old.utf8))
            }.uuid
        noteEarlier(old)
        // A chain of its own: a copy of the history before must not take what follows for the rest of what it has.
        let start = ChainHash.zero.next { $0.add(place) }
        links = ChainLinks([ChainLink(place: place, input: start, output: start)], most: history.links)
        // Whose sessions there were nobody knows any more; they end where the bus begins.
        (members, sessions, lastAsker) = ([:], ReplicaSessions(), nil)
        // A copy that was read from a snapshot does not have these.
        for session in machine.sessionsInOrder where session.isEmpty { machine.closeSession(session.id) }
    }

    /// An epoch is over; what was seen in it is no news.
    func noteEarlier(_ epoch: String) {
        if earlierEpochs.contains(epoch) { return }
        if earlierEpochs.count == ClusterLimits.epochs { earlierEpochs.removeFirst() }
        earlierEpochs.append(epoch)
    }

    /// Whether the bus begins with a proposal.
    func begins(with content: ProposalContent) -> Bool {
        !hasBegun
            && content.entries.contains {
                if case .configure(let text) = $0.command { BusBeginning(text) != nil } else { false }
            }
    }

    /// The bus begins, if an entry says so. Of several that say it the first one counts.
    func begin(asSaidBy text: [UInt8]) throws(RequestError) {
        guard let beginning = BusBeginning(text) else { return }
        guard !hasBegun else {
            throw RequestError(.conflict, "The bus has begun before; this member takes what there is.")
        }
        hasBegun = true
        machine.epoch = beginning.epoch
        // Whoever had left something on the machine whose history it is has gone.
        for session in machine.sessionsInOrder { end(session) }
    }
}
