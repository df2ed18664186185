import BusJSON
import FoundationEssentials

/// The names of this machine's users, which people read instead of their numbers.
enum LocalUsers {
    /// A machine with more has a directory of its own, and is not asked for all of it.
    private static let most = 2000

    /// By uid, those that the machine itself knows; read anew each time, since users come and go.
    static func names(in path: String = "/etc/passwd") -> JSONObject {
        guard let bytes = try? Data(contentsOf: URL(fileURLWithPath: path)) else { return [:] }
        var names: JSONObject = [:]
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n").prefix(most) {
            let fields = line.split(separator: ":", omittingEmptySubsequences: false)
            guard fields.count == 7, !fields[0].isEmpty, let uid = Int(fields[2]), names["\(uid)"] == nil
            else {
                continue
            }
            names["\(uid)"] = .string(String(fields[0]))
        }
        return names
    }
}
