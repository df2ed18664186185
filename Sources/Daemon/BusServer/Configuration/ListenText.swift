import BusCluster
import BusProtocol
import BusSource
import BusSystem
import Glibc

/// Addresses to listen on, as flags and variables write them: `unix:/path`, `tcp:host:port`, `systemd:name`.
enum ListenText {
    static func read(_ text: String, at place: Place) throws(SourceError) -> ListenAddress {
        guard let colon = text.firstIndex(of: ":") else {
            throw SourceError(
                "\(text) is not an address; write unix:/path, tcp:host:port or systemd:name.", at: place)
        }
        let rest = String(text[text.index(after: colon)...])
        switch text[..<colon] {
        case "unix":
            let path = try PathText.check(rest, "the path", at: place)
            return ListenAddress(.unix(path: path, mode: FileMode.standard, group: nil), at: place)
        case "tcp":
            return try tcp(rest, at: place)
        case "tls":
            throw SourceError(
                "\(text) needs a certificate and a key; write them beside it under listen: in the configuration.",
                at: place)
        case "systemd":
            return try systemd(rest, at: place)
        default:
            let hint = suggestion(for: String(text[..<colon]), among: ["unix", "tcp", "tls", "systemd"])
            throw SourceError("\(text[..<colon]) is not a kind of address; \(hint)", at: place)
        }
    }

    /// `host:port`
    static func tcp(_ text: String, at place: Place) throws(SourceError) -> ListenAddress {
        let (name, port) = try nameAndPort(text, at: place)
        // One that is another machine's, or every address, is refused with the configuration as a whole.
        guard let address = InternetAddress(host: name, port: port) else {
            throw SourceError(
                "Beyond this machine TCP needs encryption, and addresses in numbers; listen on 127.0.0.1 or [::1] instead of "
                    + "\(name.isEmpty ? "every address" : name), or write tls: with a certificate.", at: place
            )
        }
        return ListenAddress(.tcp(address), at: place)
    }

    static func tls(_ text: String, _ files: TLSFiles, at place: Place) throws(SourceError) -> ListenAddress {
        let (name, port) = try nameAndPort(text, at: place)
        guard let address = InternetAddress(host: name, port: port) else {
            throw SourceError(
                "\(name.isEmpty ? "Nothing" : name) is not an address of this machine; write it in numbers, such as "
                    + "127.0.0.1, or 0.0.0.0 for all.", at: place)
        }
        return ListenAddress(.tls(address, files), at: place)
    }

    private static func nameAndPort(
        _ text: String, at place: Place
    ) throws(SourceError) -> (String, UInt16) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            throw SourceError(
                "\(text) is not a TCP address; write HOST:PORT, such as 127.0.0.1:7411.", at: place)
        }
        return (String(text[..<colon]), port)
    }

    /// The name of sockets that systemd passes.
    static func systemd(_ name: String, at place: Place) throws(SourceError) -> ListenAddress {
        let isFine = name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: ":") }
        guard isFine, !name.isEmpty, name.utf8.count <= 255 else {
            throw SourceError(
                "`\(name)` can't name a socket; write the FileDescriptorName= of the socket unit, such as bus.",
                at: place)
        }
        return ListenAddress(.systemd(name: name), at: place)
    }
}

/// Permission bits as written in the configuration: octal digits in quotes, as with `chmod`.
enum FileMode {
    /// For the daemon's user and group.
    static let standard: UInt32 = 0o660

    static func read(_ value: LocatedValue) throws(SourceError) -> UInt32 {
        guard case .scalar(.string(let text)) = value.content else {
            // Without quotes YAML reads a decimal number: 0660 would be 660, which is not what is meant.
            throw value.failure("mode must be octal digits in quotes, such as \"0660\".")
        }
        guard let mode = UInt32(text, radix: 8), mode <= 0o777, text.utf8.count <= 4,
            text.utf8.allSatisfy({ (0x30...0x37).contains($0) })
        else {
            throw value.failure("\(text) is not a mode; write three or four octal digits, such as \"0660\".")
        }
        return mode
    }
}

/// The name that the system has given this machine.
package enum HostName {
    /// As it is set; empty when it can't be read.
    package static func read() -> String {
        var bytes = [CChar](repeating: 0, count: Int(HOST_NAME_MAX) + 1)
        guard gethostname(&bytes, bytes.count) == 0 else { return "" }
        return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// What a member on a machine of this name is called unless it is given another: the machine's own part, up to the first
    /// dot, in lower case. Nil when no member can be called so.
    package static func member(of name: String) -> String? {
        let member = name.prefix { $0 != "." }.lowercased()
        return ProposalName.isMemberName(member) ? member : nil
    }
}
