/// Where a bus listens: a Unix socket, or a host and port, where TLS may protect the connection.
///
/// Written `unix:/path`, `tcp:host:port`, `tcp:[v6]:port` or `tls:host:port`; the description is the same text again.
public enum BusAddress: Hashable, Sendable {
    case unix(path: String)
    case tcp(host: String, port: UInt16)
    case tls(host: String, port: UInt16)

    /// The bytes a Unix socket's path may have: `sun_path` holds 108 with the closing zero.
    public static let longestPath = 107

    /// Parses an address. Throws `invalidAddress` with a sentence that shows the right form.
    public init(parsing text: String) throws(BusError) {
        if text.hasPrefix("unix:") {
            self = try Self.unixAddress(String(text.dropFirst(5)))
        } else if text.hasPrefix("tcp:") {
            let (host, port) = try Self.hostAndPort(text.dropFirst(4), whole: text)
            self = .tcp(host: host, port: port)
        } else if text.hasPrefix("tls:") {
            let (host, port) = try Self.hostAndPort(text.dropFirst(4), whole: text)
            self = .tls(host: host, port: port)
        } else {
            throw BusError(
                .invalidAddress,
                "`\(text)` is not an address of a bus: write unix:/path/to/socket, tcp:HOST:PORT or tls:HOST:PORT."
            )
        }
    }

    private static func unixAddress(_ path: String) throws(BusError) -> BusAddress {
        guard path.hasPrefix("/") else {
            throw BusError(
                .invalidAddress, "The path of a Unix socket must be absolute: write unix:/path/to/socket.")
        }
        guard path.utf8.count <= longestPath else {
            throw BusError(
                .invalidAddress,
                "The path of a Unix socket may have \(longestPath) bytes, this one has \(path.utf8.count).")
        }
        return .unix(path: path)
    }

    private static func hostAndPort(
        _ rest: Substring, whole: String
    ) throws(BusError) -> (String, UInt16) {
        let malformed = BusError(
            .invalidAddress,
            "`\(whole)` names no host and port: write \(whole.prefix(4))HOST:PORT, as in tcp:127.0.0.1:7411.")
        guard let colon = rest.lastIndex(of: ":") else { throw malformed }
        var host = rest[..<colon]
        guard let port = UInt16(rest[rest.index(after: colon)...]), port != 0 else { throw malformed }
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            throw malformed
        }
        guard !host.isEmpty else { throw malformed }
        return (String(host), port)
    }

    /// The addresses of a bus in the order in which they are tried: the explicit ones, each of which may be several between
    /// commas or spaces, else those in `$FLUXBUS_ADDRESS`, else `$XDG_RUNTIME_DIR/fluxbus/bus.sock` if that socket exists, else
    /// `/run/fluxbus/bus.sock`.
    public static func list(
        _ explicit: [String] = [], environment: [String: String]
    ) throws(BusError) -> [BusAddress] {
        var addresses: [BusAddress] = []
        for list in explicit.isEmpty ? [environment["FLUXBUS_ADDRESS"] ?? ""] : explicit {
            let names = list.split { $0 == "," || $0.isWhitespace }.map(String.init)
            // A text that names nothing is a mistake, unless it is the environment's.
            for text in names.isEmpty && !explicit.isEmpty ? [list] : names {
                addresses.append(try BusAddress(parsing: text))
            }
        }
        if !addresses.isEmpty { return addresses }
        if let directory = environment["XDG_RUNTIME_DIR"], directory.hasPrefix("/") {
            let path = directory + "/fluxbus/bus.sock"
            if path.utf8.count <= longestPath, HostSystem.isSocket(path) { return [.unix(path: path)] }
        }
        return [.unix(path: "/run/fluxbus/bus.sock")]
    }

    /// The first address of ``list(_:environment:)``.
    public static func resolve(
        _ explicit: String? = nil, environment: [String: String]
    ) throws(BusError) -> BusAddress {
        try list(explicit.map { [$0] } ?? [], environment: environment)[0]
    }
}

extension BusAddress: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unix(let path): "unix:\(path)"
        case .tcp(let host, let port): "tcp:\(Self.text(host, port))"
        case .tls(let host, let port): "tls:\(Self.text(host, port))"
        }
    }

    private static func text(_ host: String, _ port: UInt16) -> String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

extension BusAddress {
    /// Whether the first line has to be a hello there.
    package var isRemote: Bool { if case .unix = self { false } else { true } }

    /// Whether a bus there may know this client by its certificate.
    package func takesCertificate(of options: TLSOptions) -> Bool {
        if case .tls = self { options.certificate != nil } else { false }
    }
}
