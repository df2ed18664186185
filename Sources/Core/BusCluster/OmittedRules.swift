/// Rules that a test leaves out, to see that its simulation finds what comes of it. Nothing else can.
package struct OmittedRules: OptionSet, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    // Of the replica.
    package static let incarnations = OmittedRules(rawValue: 1 << 0)
    package static let numbers = OmittedRules(rawValue: 1 << 1)
    package static let endsOfMembers = OmittedRules(rawValue: 1 << 2)
    package static let timeNeverBack = OmittedRules(rawValue: 1 << 3)
    package static let clockLead = OmittedRules(rawValue: 1 << 4)
    package static let machineOfUser = OmittedRules(rawValue: 1 << 5)
    package static let keys = OmittedRules(rawValue: 1 << 6)
    package static let lostLog = OmittedRules(rawValue: 1 << 7)
    package static let voidAfterLoss = OmittedRules(rawValue: 1 << 8)
    package static let agreedEpoch = OmittedRules(rawValue: 1 << 9)
    package static let divergence = OmittedRules(rawValue: 1 << 10)
    package static let rulesNumber = OmittedRules(rawValue: 1 << 11)
    package static let lingering = OmittedRules(rawValue: 1 << 12)
    package static let dueBeforeEntries = OmittedRules(rawValue: 1 << 13)
    package static let snapshotMembers = OmittedRules(rawValue: 1 << 14)
    package static let snapshotSessions = OmittedRules(rawValue: 1 << 15)
    package static let snapshotLinks = OmittedRules(rawValue: 1 << 16)

    // Of the member.
    package static let durableBeforeAnswer = OmittedRules(rawValue: 1 << 24)
    package static let unknownOutcome = OmittedRules(rawValue: 1 << 25)
    package static let sameAgain = OmittedRules(rawValue: 1 << 26)
    package static let overlap = OmittedRules(rawValue: 1 << 27)
    package static let proofOfLoss = OmittedRules(rawValue: 1 << 28)
    package static let barrier = OmittedRules(rawValue: 1 << 29)
    package static let newIncarnation = OmittedRules(rawValue: 1 << 30)
    package static let orderOfSession = OmittedRules(rawValue: 1 << 32)
    package static let heartbeat = OmittedRules(rawValue: 1 << 33)
}
