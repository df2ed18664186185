/// The name of a proposal, which no other ever has: its number within one incarnation of a member.
package struct ProposalName: Hashable, Sendable {
    package let member: String
    /// The place at which the member joined.
    package let incarnation: Int
    /// Counts up from 1.
    package let number: Int

    package init(member: String, incarnation: Int, number: Int) {
        self.member = member
        self.incarnation = incarnation
        self.number = number
    }

    /// Whether a member may be called so.
    package static func isMemberName(_ name: String) -> Bool {
        let letters = name.utf8
        return (1...OrderedLogLimits.memberName).contains(letters.count)
            && letters.allSatisfy { letter in
                switch letter {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}

/// The outcome of a proposal, as far as it is known.
package enum ProposalOutcome: Equatable, Sendable {
    /// It is in the log, by this call.
    case acknowledged(place: Int)
    /// One of this name was in the log before; its content is not compared. Where later ones of the incarnation are there
    /// too, the place may be that of the last of them.
    case alreadyThere(place: Int)
    /// It is not in the log and can't come in any more: the incarnation has ended.
    case refused
    /// This call has not brought it into the log and never will: it was not sent, or was refused as a whole.
    case notProposed(OrderedLogFailure)
    /// It is in the log, or not, or comes in later; the same proposal again is exact.
    case unknown(OrderedLogFailure)
}
