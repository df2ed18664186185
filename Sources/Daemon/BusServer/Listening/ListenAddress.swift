import BusSource

/// An address that the daemon listens on, and its source.
package struct ListenAddress: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// `mode` holds the permission bits; `group` is the name of a group, or nil for the daemon's own.
        case unix(path: String, mode: UInt32, group: String?)
        /// Port 0 lets the system choose one.
        case tcp(host: InternetHost, port: UInt16)
        /// The same with TLS.
        case tls(host: InternetHost, port: UInt16, TLSFiles)
        /// Sockets that systemd passes, by their FileDescriptorName.
        case systemd(name: String)
    }

    package let kind: Kind
    /// Its place in the configuration, for messages.
    package let place: Place

    package init(_ kind: Kind, at place: Place) {
        self.kind = kind
        self.place = place
    }

    /// As `--listen` takes it: `unix:/path`, `tcp:host:port`, `systemd:name`; and `tls:host:port`, which needs more.
    package var text: String {
        switch kind {
        case .unix(let path, _, _): "unix:\(path)"
        case .tcp(let host, let port): "tcp:\(host.text):\(port)"
        case .tls(let host, let port, _): "tls:\(host.text):\(port)"
        case .systemd(let name): "systemd:\(name)"
        }
    }

    package var isTCP: Bool { if case .tcp = kind { true } else { false } }

    /// What TLS needs there; nil where there is none.
    package var tls: TLSFiles? { if case .tls(_, _, let files) = kind { files } else { nil } }

    /// Whether clients on other machines may reach it.
    package var isBeyondThisMachine: Bool {
        switch kind {
        case .unix, .systemd: false
        case .tcp(let host, _), .tls(let host, _, _): !host.isLoopback
        }
    }
}
