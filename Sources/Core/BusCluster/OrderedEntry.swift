/// One entry of the shared log.
package struct OrderedEntry: Equatable, Sendable {
    package enum Content: Equatable, Sendable {
        case proposal(ProposalName, [UInt8])
        /// A member is present from here on; the entry's place is its incarnation.
        case joined(member: String, report: [UInt8])
        /// A member reports something else. Reports may be skipped: only the last one of each member counts.
        case reported(member: String, incarnation: Int, report: [UInt8])
        /// Leases of members have ended, or they have left, or somebody has ended them. Mostly one; several are in the
        /// order in which their consequences are to come, the same for all readers.
        case ended(members: [String])
    }

    package let place: Int
    package let content: Content

    package init(place: Int, _ content: Content) {
        self.place = place
        self.content = content
    }
}

/// A member that is present.
package struct OrderedLogMember: Equatable, Sendable {
    package let name: String
    package let incarnation: Int
    package let report: [UInt8]

    package init(name: String, incarnation: Int, report: [UInt8]) {
        self.name = name
        self.incarnation = incarnation
        self.report = report
    }
}
