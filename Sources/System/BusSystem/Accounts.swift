import Glibc

/// The users and groups of this machine, wherever it keeps them: in files, or in a directory elsewhere.
package enum Accounts {
    package struct User {
        package let number: uid_t
        package let name: String
        private let group: gid_t

        fileprivate init(_ entry: passwd) {
            (number, name, group) = (entry.pw_uid, String(cString: entry.pw_name), entry.pw_gid)
        }

        /// The names of the groups the user is in.
        package var groups: [String] {
            var count: Int32 = 64
            var groups = [gid_t](repeating: 0, count: Int(count))
            if getgrouplist(name, group, &groups, &count) < 0 {
                groups = [gid_t](repeating: 0, count: Int(count))
                guard getgrouplist(name, group, &groups, &count) >= 0 else { return [] }
            }
            return groups.prefix(Int(count)).compactMap { number in
                Accounts.entry(Glibc.group(), { getgrgid_r(number, $0, $1, $2, $3) }) {
                    String(cString: $0.gr_name)
                }
            }
        }
    }

    /// Nil where there is none.
    package static func user(_ number: uid_t) -> User? {
        entry(passwd(), { getpwuid_r(number, $0, $1, $2, $3) }, User.init)
    }

    /// Nil where there is none.
    package static func user(named name: String) -> User? {
        entry(passwd(), { getpwnam_r(name, $0, $1, $2, $3) }, User.init)
    }

    /// The number of a group; nil where there is none.
    package static func group(named name: String) -> gid_t? {
        entry(Glibc.group(), { getgrnam_r(name, $0, $1, $2, $3) }, \.gr_gid)
    }

    /// Room for a group of thousands of members, in bytes.
    private static let largestEntry = 1 << 20

    /// What `take` needs of an entry, which lies in a buffer of ours while that reads it.
    private static func entry<Entry, Value>(
        _ empty: Entry,
        _ find: (
            UnsafeMutablePointer<Entry>, UnsafeMutablePointer<CChar>, Int,
            UnsafeMutablePointer<UnsafeMutablePointer<Entry>?>
        ) -> Int32, _ take: (Entry) -> Value
    ) -> Value? {
        var (entry, size) = (empty, 16 << 10)
        while size <= largestEntry {
            var found: UnsafeMutablePointer<Entry>?
            let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: size)
            defer { buffer.deallocate() }
            let code = find(&entry, buffer, size, &found)
            if code == 0 { return found.map { take($0.pointee) } }
            guard code == ERANGE else { return nil }
            size *= 4
        }
        return nil
    }
}
