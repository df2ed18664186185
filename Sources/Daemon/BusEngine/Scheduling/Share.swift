/// How far somebody has come on the clock of work, and what it is likely to take next; see `FairQueue`.
struct Share {
    /// The work that was done for it, and the time on the clock that it did not ask for any.
    private(set) var done = 0
    /// The work that its next service is likely to take: the most that one took lately, as one little request must not make
    /// room for a large one.
    private(set) var expected: Int

    init(expecting work: Int) { expected = work }

    /// It begins to wait, or is served, at a time on the clock: what it did not ask for before is not saved up.
    mutating func begin(at clock: Int) { done = max(done, clock) }

    /// Something was done on its behalf that somebody else caused; nobody can be put back by that beyond `limit`.
    @inline(__always)
    mutating func owe(_ work: Int, upTo limit: Int) { done = max(done, min(done &+ work, limit)) }

    /// It was served.
    @inline(__always)
    mutating func charge(_ work: Int) {
        done &+= work
        expected = max(work, expected &- expected &>> 4)
    }
}
