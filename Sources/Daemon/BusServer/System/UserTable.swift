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
        let found = Self.read(uid)
        // A machine has few users; what connects may claim no uid that it has not.
        if known.count > 4096 { known = [:] }
        known[uid] = found
        return found
    }

    private static func read(_ uid: Int) -> (user: String?, groups: [String]) {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16 << 10)
        guard getpwuid_r(uid_t(truncatingIfNeeded: uid), &entry, &buffer, buffer.count, &found) == 0,
            let found, let name = found.pointee.pw_name
        else { return (nil, []) }
        var count: Int32 = 64
        var groups = [gid_t](repeating: 0, count: Int(count))
        if getgrouplist(name, found.pointee.pw_gid, &groups, &count) < 0 {
            groups = [gid_t](repeating: 0, count: Int(count))
            guard getgrouplist(name, found.pointee.pw_gid, &groups, &count) >= 0 else {
                return (String(cString: name), [])
            }
        }
        return (String(cString: name), groups.prefix(Int(count)).compactMap(groupName))
    }

    private static func groupName(_ gid: gid_t) -> String? {
        var entry = group()
        var found: UnsafeMutablePointer<group>?
        var buffer = [CChar](repeating: 0, count: 64 << 10)
        guard getgrgid_r(gid, &entry, &buffer, buffer.count, &found) == 0, let name = found?.pointee.gr_name
        else { return nil }
        return String(cString: name)
    }

    /// Whether there is a user of this name.
    static func hasUser(_ name: String) -> Bool {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16 << 10)
        return getpwnam_r(name, &entry, &buffer, buffer.count, &found) == 0 && found != nil
    }

    static func hasGroup(_ name: String) -> Bool {
        var entry = group()
        var found: UnsafeMutablePointer<group>?
        var buffer = [CChar](repeating: 0, count: 64 << 10)
        return getgrnam_r(name, &entry, &buffer, buffer.count, &found) == 0 && found != nil
    }
}
