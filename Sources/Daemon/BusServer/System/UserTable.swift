import BusSystem
import Glibc

/// The users and groups of this machine. What was asked is remembered until the next reload, because the directory may
/// be elsewhere.
final class UserTable {
    private var known: [Int: (user: String?, groups: [String])] = [:]

    /// Asks again from now on.
    func forget() { known = [:] }

    /// The name of a user, and the names of the groups the user is in.
    func lookUp(_ uid: Int) -> (user: String?, groups: [String]) {
        if let known = known[uid] { return known }
        let user = Accounts.user(uid_t(truncatingIfNeeded: uid))
        let found = (user: user?.name, groups: user?.groups ?? [])
        // A machine has few users; what connects may claim no uid that it has not.
        if known.count > 4096 { known = [:] }
        known[uid] = found
        return found
    }
}
