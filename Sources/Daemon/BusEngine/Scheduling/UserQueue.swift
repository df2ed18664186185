import BusCommands

/// What waits for a turn: users first, by how much was done for each, and what a user waits for in the user's own order.
/// So one user with a thousand connections has no more time than another with one.
///
/// In the queue of users each has one place that is good, which is where its next errand will probably end. A place is given
/// up for a better one by taking a new one: the old one is passed over when it comes up.
struct UserQueue {
    private struct Place {
        let user: User
        let number: Int
    }

    private var users = FairQueue<Place>()
    /// The user whose errand was taken last: it takes its next place when that is done, and charged for.
    private var served: User?
    private(set) var count = 0

    @inline(__always)
    var isEmpty: Bool { count == 0 }

    /// Where the clock of all users stands.
    @inline(__always)
    var clock: Int { users.clock }

    /// Adds an errand to those of a user; `work`: its cost, where that is known.
    mutating func add(_ errand: Errand, of user: User, _ share: inout Share, expecting work: Int? = nil) {
        let before = user.errands.firstEnd
        user.errands.add(errand, &share, expecting: work)
        count += 1
        if user === served { return }
        if before.map({ user.errands.firstEnd! < $0 }) ?? true { takePlace(user) }
    }

    private mutating func takePlace(_ user: User) {
        user.place += 1
        var work = user.errands.firstWork ?? 0
        if case .serveNext(let turn, _)? = user.errands.first { work = max(work, turn.assumed) }
        users.add(Place(user: user, number: user.place), &user.share, expecting: work)
    }

    /// Takes the next errand.
    mutating func takeFirst() -> Errand? {
        if let user = served {
            served = nil
            if !user.errands.isEmpty { takePlace(user) }
        }
        while let place = users.takeFirst() {
            guard place.number == place.user.place, let errand = place.user.errands.takeFirst() else {
                continue
            }
            served = place.user
            count -= 1
            return errand
        }
        return nil
    }

    /// A connection is served without having waited, because nobody waits.
    @inline(__always)
    mutating func serveAtOnce(_ connection: Connection) {
        users.serveAtOnce(&connection.user.share)
        connection.turn.serveAtOnce(of: connection.user)
    }

    /// Removes the errands of these users for which `isLeaving` is true, user by user.
    mutating func removeAll(of all: [User], where isLeaving: (Errand) -> Bool) -> [Errand] {
        var left: [Errand] = []
        for user in all {
            left += user.errands.removeAll(where: isLeaving)
            // Its place was that of one that may be gone.
            if !user.errands.isEmpty, user !== served { takePlace(user) }
        }
        count -= left.count
        return left
    }
}
