/// Which corners a simulation has reached, and how often.
struct SimulationFigures {
    var coalesced = 0
    var parts = 0
    var handOvers = 0
    /// How often subscribers were told together.
    var multicasts = 0
    /// How often somebody had to wait for a turn.
    var pauses = 0
    /// Lines that were carried out, and how often several of one client were at once.
    var lines = 0
    var pipelines = 0
    /// How often the last of the lines was read by its sender's template.
    var familiar = 0
    /// Replies that were compared with what the model says, and causes.
    var replies = 0
    var causes = 0

    mutating func note(_ lines: Int, lastIsFamiliar: Bool) {
        self.lines += lines
        pipelines += lines > 1 ? 1 : 0
        familiar += lastIsFamiliar ? 1 : 0
    }

    mutating func add(_ client: SimulatedClient) {
        coalesced += client.coalescedEvents
        parts += client.partialEvents
        replies += client.repliesChecked
        causes += client.causesChecked
    }

    static func += (left: inout Self, right: Self) {
        left.coalesced += right.coalesced
        left.parts += right.parts
        left.handOvers += right.handOvers
        left.multicasts += right.multicasts
        left.pauses += right.pauses
        left.lines += right.lines
        left.pipelines += right.pipelines
        left.familiar += right.familiar
        left.replies += right.replies
        left.causes += right.causes
    }
}
