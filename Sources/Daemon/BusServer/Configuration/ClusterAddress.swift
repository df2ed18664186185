import BusProtocol
import BusSource
import BusSystem
import CLinux

/// Addresses that members of a bus connect to, as the configuration writes them. Only their form is checked: who is there
/// shows when somebody connects.
enum ClusterAddress {
    /// That of a server of etcd: `https://HOST:PORT`.
    static func etcd(_ text: String, at place: Place) throws(SourceError) -> String {
        // It may hold a password: it is not shown.
        if text.contains("@") {
            throw SourceError(
                "An address of etcd can't name a user; write user: and password-file: beside etcd:.",
                at: place)
        }
        let scheme = ["https://", "http://"].first { text.hasPrefix($0) }
        guard let scheme, isHostAndPort(text.dropFirst(scheme.count)) else {
            throw SourceError(
                "\(text) is not an address of an etcd; write it as https://HOST:2379.", at: place)
        }
        return text
    }

    /// That of a member: `unix:/path` or `tls:HOST:PORT`. Over `tcp:` a bus asks for a token, and members have none.
    static func advertised(_ text: String, at place: Place) throws(SourceError) -> String {
        guard let colon = text.firstIndex(of: ":") else {
            throw SourceError(
                "\(text) is not an address; write unix:/path or tls:HOST:PORT.", at: place)
        }
        let kind = String(text[..<colon])
        let rest = text[text.index(after: colon)...]
        switch kind {
        case "unix":
            let path = try PathText.check(String(rest), "the path", at: place)
            guard path.hasPrefix("/") else {
                throw SourceError(
                    "\(path) is relative, and other members run elsewhere; write an absolute path.",
                    at: place)
            }
            guard path.utf8.count <= linux_unix_path_limit else {
                throw SourceError(
                    "The path has \(path.utf8.count) bytes, and the kernel allows \(linux_unix_path_limit); use a "
                        + "shorter one.", at: place)
            }
        case "tcp":
            throw SourceError(
                "\(text) lets in only who has a token, and members have none; write tls:HOST:PORT, or unix:/path on the same machine.",
                at: place)
        case "tls":
            guard isHostAndPort(rest) else {
                throw SourceError(
                    "\(text) names no host and port; write tls:HOST:PORT, such as tls:10.0.0.4:7412.",
                    at: place)
            }
            guard !isEveryAddress(rest) else {
                throw SourceError(
                    "\(text) stands for every address of a machine; write the one that other members reach it by.",
                    at: place)
            }
        default:
            throw SourceError(
                "\(kind) is not a kind of address; \(suggestion(for: kind, among: ["unix", "tls"]))",
                at: place)
        }
        return text
    }

    /// The longest name of a host in the domain name system.
    private static let longestHost = 253

    private static func isHostAndPort(_ text: Substring) -> Bool {
        guard let colon = text.lastIndex(of: ":") else { return false }
        let digits = text[text.index(after: colon)...]
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits), port > 0
        else {
            return false
        }
        let host = text[..<colon]
        if host.hasPrefix("[") {
            return host.hasSuffix("]") && InternetAddress(host: String(host), port: port)?.isVersion6 == true
        }
        return (1...longestHost).contains(host.utf8.count) && host.utf8.allSatisfy(isHostByte)
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func isEveryAddress(_ text: Substring) -> Bool {
        guard let colon = text.lastIndex(of: ":") else { return false }
        return InternetAddress(host: String(text[..<colon]), port: 0)?.isWildcard ?? false
    }
}
