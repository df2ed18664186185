import BusJSON
import BusSystem
import CLinux
import FlyingFox
import FlyingSocks
import FoundationEssentials
import Glibc

/// Which names this server goes by, and from which pages it may be asked. A page of somebody else can make a browser ask us,
/// also under a name of its own that stands for our address; then `Host` or `Origin` is its own. Pure.
package struct HostPolicy: Equatable {
    /// Names and addresses, without brackets and in small letters.
    private let own: Set<String>
    /// Names by which a proxy in front is reached, with or without TLS.
    private let given: Set<String>
    /// Listening on all addresses, it is known by each of them: only names can be made to stand for another's address.
    private let takesAddresses: Bool
    private let isSecure: Bool

    package init(listening: [InternetAddress], names: [String], isSecure: Bool) {
        own = Set(["localhost", "127.0.0.1", "::1"] + listening.map(\.host))
        given = Set(names.map { $0.lowercased() })
        takesAddresses = listening.contains(where: \.isWildcard)
        self.isSecure = isSecure
    }

    /// Whether the header field Host names this server.
    package func knows(_ host: String?) -> Bool {
        guard let name = Self.name(in: host) else { return false }
        return own.contains(name) || given.contains(name)
            || (takesAddresses && InternetAddress.bytes(of: name) != nil)
    }

    /// Whether the header field Origin is that of our own page, which was asked for by the same Host.
    package func allows(origin: String?, host: String?) -> Bool {
        guard let origin = origin?.lowercased(), let host = host?.lowercased(), knows(host) else {
            return false
        }
        if origin == (isSecure ? "https://" : "http://") + host { return true }
        // A proxy in front may end TLS.
        guard !isSecure, let name = Self.name(in: host), given.contains(name) else { return false }
        return origin == "https://" + host
    }

    /// Whether a browser says that another page asks: in Origin, or where it leaves that out, in Sec-Fetch-Site.
    func isForeign(_ request: HTTPRequest) -> Bool {
        if let origin = request.headers[HTTPHeader("Origin")] {
            return !allows(origin: origin, host: request.headers[.host])
        }
        return !["same-origin", "none"].contains(request.headers[HTTPHeader("Sec-Fetch-Site")] ?? "none")
    }

    /// The host without its port and brackets.
    private static func name(in host: String?) -> String? {
        guard let host = host?.lowercased(), !host.isEmpty else { return nil }
        var name = host[...]
        if host.hasPrefix("[") {
            guard let end = host.firstIndex(of: "]"),
                isPort(host[host.index(after: end)...])
            else { return nil }
            name = host[host.index(after: host.startIndex)..<end]
        } else if let colon = host.firstIndex(of: ":") {
            guard isPort(host[colon...]) else { return nil }
            name = host[..<colon]
        }
        if name.hasSuffix(".") { name = name.dropLast() }
        guard let bytes = InternetAddress.bytes(of: String(name)) else { return String(name) }
        // One address has many forms.
        return InternetAddress(parsing: bytes.count == 4 ? "\(name):0" : "[\(name)]:0")?.host
    }

    private static func isPort(_ text: Substring) -> Bool {
        if text.isEmpty { return true }
        return text.first == ":" && text.count > 1
            && text.dropFirst().allSatisfy { "0123456789".contains($0) }
    }
}

/// The names of this machine's users, which people read instead of their numbers.
enum LocalUsers {
    /// A machine with more has a directory of its own, and is not asked for all of it.
    private static let most = 2000

    /// By uid, those that the machine itself knows; read again each time, since users come and go.
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

/// The Unix socket of the HTTP server, as its library wants addresses.
struct ServerAddress: SocketAddress {
    static let family = sa_family_t(AF_UNIX)

    let path: String

    func withSockAddr<Result, Failure: Error>(
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try UnixAddress(path).withAddress(body)
    }
}
