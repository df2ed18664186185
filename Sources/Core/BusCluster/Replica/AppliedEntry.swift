import BusCommands

/// What became of one entry of the shared log.
package struct AppliedEntry: Sendable {
    /// Why a proposal does not count. It has changed nothing, anywhere.
    package enum Void: Equatable, Sendable {
        /// Its member is not present, or in another incarnation.
        case incarnation
        /// It is not the next one of its member.
        case number
        /// It can't be read.
        case malformed
        /// Its member has seen what this log does not have, and what it asks for rests on that.
        case lostLog
    }

    /// How the proposer's evidence compares with what is here.
    package enum Comparison: Equatable, Sendable {
        /// Too long ago to tell.
        case forgotten
        case same
        /// The log holds something else, or less.
        case otherInput
        /// The log holds the same entries, but applying them gave another result.
        case otherOutput
    }

    package let link: ChainLink
    /// Of a proposal that counts, in the order of its entries: of the first ones, where these took as many operations as all of
    /// them may.
    package internal(set) var outcomes: [CommandOutcome] = []
    /// The operations that each of them took here.
    package internal(set) var spent: [Int] = []
    package internal(set) var void: Void?
    /// The evidence that came with it, and what it shows.
    package internal(set) var evidence: (link: ChainLink, Comparison)?
    /// The history that begins here.
    package internal(set) var epoch: String?
    /// How far its member's clock is ahead of what was taken of it, in milliseconds.
    package internal(set) var clockAhead = 0
}

/// Why a replica can't go on. Nothing of the entry was applied.
package enum ReplicaStop: Error, Equatable, Sendable {
    /// The entry is to be applied by later rules.
    case newerRules(Int)
    /// The bus begins at this place with states that this replica does not have.
    case otherBeginning(place: Int)

    /// One sentence.
    package var message: String {
        switch self {
        case .otherBeginning(let place):
            "The bus begins at place \(place) of the shared log with another history than this machine's; the log file of this member has to be a new one."
        case .newerRules(let rules):
            "A member of the bus proposes by rules \(rules), and this version knows rules up to \(ClusterLimits.rules); install the version that the others run, and start again."
        }
    }
}
