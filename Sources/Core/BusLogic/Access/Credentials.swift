import BusJSON
import BusProtocol
import BusSource

/// All that is known of who asks: what roles are found from.
package struct Credentials: Sendable, Hashable {
    package var uid: Int?
    /// The name of the user, where the system knows one.
    package var user: String?
    package var groups: [String] = []
    /// The service manager's unit.
    package var unit: String?
    /// The name of the token.
    package var token: String?
    /// The names in the client's certificate, its subject first.
    package var certificate: [String] = []
    /// What the client calls itself.
    package var client: String?

    package init(
        uid: Int? = nil, user: String? = nil, groups: [String] = [], unit: String? = nil,
        token: String? = nil, certificate: [String] = [], client: String? = nil
    ) {
        self.uid = uid
        self.user = user
        self.groups = groups
        self.unit = unit
        self.token = token
        self.certificate = certificate
        self.client = client
    }
}

/// A role, and who has it: everybody of whom one of its lines is true.
package struct AccessRole: Sendable {
    /// One line: all that it names must fit.
    struct Line: Sendable {
        var uid: Int?
        /// By the name of the member: patterns.
        var patterns: [(member: String, glob: Glob)] = []

        func fits(_ who: Credentials) -> Bool {
            if let uid, uid != who.uid { return false }
            return patterns.allSatisfy { member, glob in
                Self.values(of: member, in: who).contains { glob.matches($0) }
            }
        }

        private static func values(of member: String, in who: Credentials) -> [String] {
            switch member {
            case "user": who.user.map { [$0] } ?? []
            case "group": who.groups
            case "unit": who.unit.map { [$0] } ?? []
            case "token": who.token.map { [$0] } ?? []
            case "certificate": who.certificate
            case "client": who.client.map { [$0] } ?? []
            default: []
            }
        }
    }

    /// What a line may name.
    package static let members = ["user", "uid", "group", "unit", "token", "certificate", "client"]

    package let name: String
    /// Where it stands.
    package let place: Place
    let lines: [Line]

    /// Whether somebody can have it: one of its lines names nothing of which `exists` says that there is no such thing.
    package func isPossible(where exists: (_ member: String, _ name: String) -> Bool) -> Bool {
        lines.isEmpty
            || lines.contains { line in
                line.patterns.allSatisfy { member, glob in
                    !glob.isLiteral || exists(member, String(decoding: glob.pattern, as: UTF8.self))
                }
            }
    }

    func isOf(_ who: Credentials) -> Bool { lines.contains { $0.fits(who) } }
}
