/// The log that the members of one bus share, as each of them sees it: it orders and stores, and decides nothing. Duplicates,
/// fencing's consequences, ended members and lost tails are judged by the state machine that is fed from it.
///
/// All calls return at once; what comes of them is taken by `take`, in the order in which it came about. An implementation
/// that works on a thread of its own rings a bell, given when it is made, after there is something to take; one that
/// simulates needs neither. Every call may be made whether or not the log can be reached.
///
/// **Places.** Each entry has a place, a positive number; places grow, with gaps, and no two entries share one. All readers
/// get the same entries at the same places. Places have nothing to do with the bus's revisions, which count commits.
///
/// **Members.** A member is present from the entry `joined`, whose place is its *incarnation*, until the entry `ended`. In
/// between nobody else of its name can join. Of an ended incarnation there is no proposal at any later place.
///
/// **What is promised of proposals.** One that was acknowledged is on the disks of a majority, at its place, for ever until
/// trimmed. Of each name at most one is in the log, until the log is trimmed past it; afterwards a delayed one could come in
/// once more, so members go by numbers that count up. What is lost nevertheless, as by a backup that was restored, is
/// reported as `replaced` where the log can tell; a member's own evidence tells the rest.
///
/// Confined to one owner at a time.
package protocol OrderedLog: AnyObject {
    /// Reads all entries behind a place, first those that are there, then each that comes, without a gap and without one
    /// doubled, through lost connections too, until the next `read` or `close`. Nothing of an earlier reading comes out of
    /// `take` after this call.
    ///
    /// The reading stops with `trimmedAway` or `replaced`; the owner then calls `read` again.
    ///
    /// - Parameters:
    ///   - place: That of the last entry that the owner has; 0: the beginning.
    ///   - cluster: The log from which the owner has what lies before; nil: whichever it is.
    func read(behind place: Int, of cluster: String?)

    /// Becomes a member, until the lease ends because this process is silent for as long as the log was made for, until
    /// `leave`, or until somebody calls `end`. Repeated until it is decided: by `joined`, or by `nameTaken`. Only while not
    /// a member, nor about to become one.
    ///
    /// - Parameter report: What others read of this member.
    func join(as member: String, report: [UInt8])

    /// Replaces what others read of this member: the last one counts, and takes effect some time later. Ignored while not
    /// a member.
    func report(_ report: [UInt8])

    /// Ends this membership, or gives up joining; `ended` comes in order, as seen by all. Repeated until done, or until the
    /// lease has ended by itself. Ignored while not a member.
    func leave()

    /// Renews the lease, for a process that is to go on as this member by `resume`, and tells by `passed` which one it is. The
    /// owner then only calls `close`.
    func pass()

    /// Goes on as the member that another process was, which has passed its lease on. If that has run out meanwhile,
    /// `leaseLost` tells so. Instead of `join`.
    func resume(as member: String, incarnation: Int, lease: Int)

    /// Ends another's membership, if it is still this incarnation: that of an earlier run of this member, for one, so that
    /// its sessions need not be waited for. Tried once: `ended` in order tells that it was done.
    func end(_ member: String, incarnation: Int)

    /// Puts a proposal into the log, if none of this name is there and the incarnation is still present. There is exactly
    /// one `proposed` for each call, unless `close` comes first. Tried once: after `unknown` the same may be proposed again.
    /// One at a time: not before the last one's `proposed` was taken.
    ///
    /// - Parameter content: At most `OrderedLogLimits.proposal` bytes.
    func propose(_ name: ProposalName, _ content: [UInt8])

    /// Asks for a place up to which everything is delivered that anybody had got acknowledged, or had read, before the call.
    /// There is one `barrier` for each call, behind the entries that it speaks of, or one `barrierFailed`. Only while reading;
    /// the next `read` leaves those before it unanswered.
    ///
    /// - Parameter number: Comes back with the answer; larger than that of the call before.
    func barrier(_ number: Int)

    /// Asks for the members that are present, with what they report: `members`, or `membersFailed`.
    func listMembers()

    /// Removes all entries up to a place, that one too. Reading behind an earlier place ends in `trimmedAway` from then on.
    /// Tried once; `trimmed` or `trimFailed`. Another member may have trimmed further: that is no failure.
    func trim(through place: Int)

    /// Takes what has come since the last time, oldest first; at most so much that the owner can go through it in one turn.
    /// Where there is more, the bell has been rung again.
    func take() -> [OrderedLogEvent]

    /// Ends the work; nothing comes afterwards. A membership that `leave` was called for has a second to end; the lease of
    /// any other runs out.
    func close()
}

package enum OrderedLogLimits {
    /// The largest proposal: what an etcd takes with its settings as they are (1.5 MB), with room for names.
    package static let proposal = 1 << 20
    /// The largest report of a member: all of them are read at once.
    package static let report = 4096
    /// The longest name of a member; names are lower-case letters, digits, `.`, `_` and `-`.
    package static let memberName = 64
}
