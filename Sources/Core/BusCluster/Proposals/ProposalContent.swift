/// What a member puts into the shared log at once: its entries, and what it knew when it did.
package struct ProposalContent: Equatable, Sendable {
    /// The number of the rules by which it is to be applied; see `ClusterLimits.rules`.
    package let rules: Int
    /// The proposer's clock, in milliseconds since 1970.
    package let clock: Int
    package let evidence: Evidence
    package let entries: [ClusterEntry]

    package init(
        rules: Int = ClusterLimits.rules, clock: Int, evidence: Evidence, entries: [ClusterEntry]
    ) {
        self.rules = rules
        self.clock = clock
        self.evidence = evidence
        self.entries = entries
    }
}

/// Why a proposal can't be read.
package enum ProposalFailure: Error, Equatable, Sendable {
    /// It needs later rules than this version knows; it may be read by a later version.
    case newer(rules: Int)
    /// It has no meaning for any version: void, everywhere.
    case malformed
}
