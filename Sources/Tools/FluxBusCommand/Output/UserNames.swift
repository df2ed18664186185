import BusJSON

/// The names of users, for people: each is looked up once.
package final class UserNames {
    private let lookUp: (Int) -> String?
    private let lookUpNumber: (String) -> Int?
    private var known: [Int: String?] = [:]

    package init(lookUp: @escaping (Int) -> String?, lookUpNumber: @escaping (String) -> Int? = { _ in nil })
    {
        self.lookUp = lookUp
        self.lookUpNumber = lookUpNumber
    }

    /// The uid of a user by that name; nil where there is none.
    package func number(of name: String) -> Int? { lookUpNumber(name) }

    /// For a bus on another machine, whose users have other numbers.
    package static var none: UserNames { UserNames { _ in nil } }

    package func name(of uid: Int) -> String? {
        if let name = known[uid] { return name }
        let name = lookUp(uid)
        known[uid] = .some(name)
        return name
    }

    /// The principal that caused something, from a `by` or an `identity`: `ada (1001) python3[4711] "panel"`.
    package func identity(_ by: JSON) -> String {
        if by["daemon"]?.bool == true { return "the daemon" }
        var parts: [String] = []
        if let token = by["token"]?.string {
            parts.append("token " + token + (by["address"]?.string.map { " from " + $0 } ?? ""))
        }
        if let unit = by["unit"]?.string { parts.append(unit) }
        if let uid = by["uid"]?.int { parts.append(user(uid, by)) }
        let comm = by["comm"]?.string
        if let pid = by["pid"]?.int { parts.append(comm.map { "\($0)[\(pid)]" } ?? "pid \(pid)") }
        if let client = by["client"]?.string, client != comm { parts.append("\"\(client)\"") }
        if let address = by["via"]?.string { parts.append("via \(address)") }
        return parts.isEmpty ? ScreenText.value(by) : ScreenText.safe(parts.joined(separator: " "))
    }

    /// The author in one word, for programs: `ada`, or `1001` if the name is unknown; `token:sensor`; `certificate:CN=hall`.
    /// Nil for the daemon.
    package func account(_ by: JSON) -> String? {
        if let uid = by["uid"]?.int { return userName(uid, by) ?? "\(uid)" }
        for kind in ["token", "certificate"] {
            if let name = by[kind]?.string { return "\(kind):\(name)" }
        }
        return nil
    }

    private func user(_ uid: Int, _ by: JSON) -> String {
        userName(uid, by).map { "\($0) (\(uid))" } ?? "uid \(uid)"
    }

    /// The name that the bus gives, else this machine's; another member's uids are not ours.
    private func userName(_ uid: Int, _ by: JSON) -> String? {
        by["user"]?.string ?? (by["member"] == nil ? name(of: uid) : nil)
    }
}
