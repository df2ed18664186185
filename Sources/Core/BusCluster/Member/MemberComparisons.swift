/// What is known of the other members.
struct OtherMembers {
    var reports: [String: MemberReport] = [:]
    var comparisons = MemberComparisons()
    var progress = MemberProgress()
    /// By how much clocks were further ahead than counts when that was last reported, in milliseconds.
    private var clocksAhead: [String: Int] = [:]
    /// When their last proposals came here, by the time of this member.
    private var proposals: [String: Int] = [:]

    mutating func noteProposal(of member: String, now: Int) { proposals[member] = now }

    func count(thatProposedSince time: Int) -> Int { proposals.values.count { $0 > time } }

    mutating func forgetProposals(of member: String) { proposals[member] = nil }

    /// Notes by how much a member's clock is further ahead than counts, in milliseconds. True: that is to be reported.
    mutating func note(clockAhead lead: Int, of member: String) -> Bool {
        let reported = clocksAhead[member] ?? 0
        // Others show their clocks now and then, so the lead of a clock that stays as it is swings by as much.
        if lead == 0, reported > ClusterLimits.longestHeartbeat { clocksAhead[member] = nil }
        guard lead >= max(1000, 2 * reported) else { return false }
        clocksAhead[member] = lead
        return true
    }

    mutating func forgetClock(of member: String) { clocksAhead[member] = nil }
}

/// What other members' evidence shows of what they made of the log, compared with what is here.
struct MemberComparisons {
    /// The first place at which one differed; nil: none did.
    private(set) var place: Int?
    private var differing: Set<String> = []
    private var agreeing: Set<String> = []

    /// Notes what a member's evidence shows. True: it is the first difference of this member.
    mutating func note(_ member: String, _ link: ChainLink, _ comparison: AppliedEntry.Comparison) -> Bool {
        switch comparison {
        case .otherOutput:
            // Those who agreed may have done so before.
            if link.place < place ?? .max { (place, agreeing) = (link.place, []) }
            agreeing.remove(member)
            return differing.insert(member).inserted
        case .same:
            if let place, link.place >= place, !differing.contains(member) { agreeing.insert(member) }
            return false
        case .forgotten, .otherInput: return false
        }
    }

    func differs(_ member: String) -> Bool { differing.contains(member) }

    /// The member has ended, or starts over.
    mutating func forget(_ member: String) {
        differing.remove(member)
        agreeing.remove(member)
        if differing.isEmpty { (place, agreeing) = (nil, []) }
    }

    /// Whether this member has to stop; `others` are present.
    func verdict(among others: [String]) -> MemberStop? {
        guard let place, !differing.isEmpty else { return nil }
        let against = others.count { differing.contains($0) }
        let all = others.count + 1
        if 2 * against > all { return .diverged(place: place, isOdd: true) }
        let undecided = others.count - against - others.count { agreeing.contains($0) }
        return 2 * against == all && undecided == 0 ? .diverged(place: place, isOdd: false) : nil
    }
}
