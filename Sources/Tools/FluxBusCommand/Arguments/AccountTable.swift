import Glibc

/// Users of this machine and their groups, for questions about rules.
enum AccountTable {
    /// The uid of a user and the names of the groups the user is in; nothing for a user that is not there.
    static func lookUp(_ name: String) -> (uid: Int?, groups: [String]) {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16 << 10)
        guard getpwnam_r(name, &entry, &buffer, buffer.count, &found) == 0, let found else {
            return (nil, [])
        }
        var count: Int32 = 256
        var groups = [gid_t](repeating: 0, count: Int(count))
        guard getgrouplist(name, found.pointee.pw_gid, &groups, &count) >= 0 else {
            return (Int(found.pointee.pw_uid), [])
        }
        return (Int(found.pointee.pw_uid), groups.prefix(Int(count)).compactMap(groupName))
    }

    private static func groupName(_ gid: gid_t) -> String? {
        var entry = group()
        var found: UnsafeMutablePointer<group>?
        var buffer = [CChar](repeating: 0, count: 64 << 10)
        guard getgrgid_r(gid, &entry, &buffer, buffer.count, &found) == 0, let name = found?.pointee.gr_name
        else { return nil }
        return String(cString: name)
    }
}

extension AccountTable {
    /// The name of a user; nil for a uid that has none.
    @Sendable static func name(of uid: Int) -> String? {
        guard let uid = uid_t(exactly: uid) else { return nil }
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16 << 10)
        guard getpwuid_r(uid, &entry, &buffer, buffer.count, &found) == 0, let found else { return nil }
        return String(cString: found.pointee.pw_name)
    }
}
