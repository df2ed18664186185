import BusSource

/// An address that the daemon listens on, and its source.
package struct ListenAddress: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// `mode` holds the permission bits; `group` is the name of a group, or nil for the daemon's own.
        case unix(path: String, mode: UInt32, group: String?)
        /// Port 0 lets the system choose one.
        case tcp(host: LoopbackHost, port: UInt16)
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

    /// As `--listen` takes it: `unix:/path`, `tcp:host:port`, `systemd:name`.
    package var text: String {
        switch kind {
        case .unix(let path, _, _): "unix:\(path)"
        case .tcp(let host, let port): "tcp:\(host.text):\(port)"
        case .systemd(let name): "systemd:\(name)"
        }
    }

    package var isTCP: Bool { if case .tcp = kind { true } else { false } }
}
