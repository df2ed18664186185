import BusCommands
import BusMachine

/// Those who have one identity in common: a Unix user, a token, a certificate. Connections of one user share what that user
/// may have of the daemon, and the user's time.
final class User {
    /// Nil for clients that have not said who they are, and for the daemon itself.
    let identity: Identity?
    /// Root and the daemon's own user: the limits are theirs to set, so they are not held to a share of them.
    let isOperator: Bool
    /// Counts users, in the order in which they were first seen.
    let number: Int

    // What the user has of what all share.
    @exclusivity(unchecked) var connections = 0
    @exclusivity(unchecked) var subscriptions = 0
    @exclusivity(unchecked) var shapes = 0
    @exclusivity(unchecked) var lingering = 0
    @exclusivity(unchecked) var willBytes = 0
    /// What its expressions may still take of a commit, by the number of that.
    @exclusivity(unchecked) var testing = (commit: 0, left: 0)
    /// What its connections have not read, and what they have sent in part: what was summed up last, if it was since others
    /// were measured, and what has been added since.
    @exclusivity(unchecked) var waitingBytes = 0
    @exclusivity(unchecked) var summedBytes: Int?
    /// That is more than its share: its connections may hold little until it is less.
    @exclusivity(unchecked) var holdsTooMuch = false

    /// What its connections have in the open batch of commits.
    @exclusivity(unchecked) var batchShare = BatchShare()

    // Its time.
    /// How far it has come on the clock of all users.
    @exclusivity(unchecked) var share = Share(expecting: 0)
    /// What waits for its turn.
    @exclusivity(unchecked) var errands = FairQueue<Errand>()
    /// Counts its places in the queue of users: only the newest is good.
    @exclusivity(unchecked) var place = 0
    /// Its connections that have not been served yet, those whose peers are gone, and those that are only behind.
    let newcomers = SharedTurn(assuming: Work.newcomer)
    let lost = SharedTurn()
    let behind = SharedTurn()
    /// When one of its long requests was let through the gate last, counted in those let through.
    @exclusivity(unchecked) var passedGate = 0
    /// All the work done for it.
    @exclusivity(unchecked) private(set) var work = 0

    init(_ identity: Identity?, number: Int, isOperator: Bool = false) {
        self.identity = identity
        self.number = number
        self.isOperator = isOperator
    }

    func forgetWaiting() { (waitingBytes, summedBytes) = (0, nil) }

    /// Work was done for it.
    @inline(__always)
    func charge(_ done: Int) {
        share.advance(by: done)
        work &+= done
    }
}
