import BusEngine
import BusSource
import BusYAML

/// The combined settings of `fluxbusd.yaml`, the environment and the flags. Every value is valid by itself and knows
/// its source; `ServerSetup` checks whether types, tokens and stores fit together.
package struct ServerConfiguration: Sendable {
    package var listen: [ListenAddress]
    /// Addresses of the file for other machines, or TCP, in whose place the environment or the flags have others.
    private(set) var replacedAddresses: [ListenAddress] = []
    /// The file of tokens, without which there is no TCP.
    package var tokens: Located<String>?
    /// The directory of state types.
    package var types: Located<String>?
    /// Addresses of stores that exist from the start.
    package var stores: [Located<String>]
    /// The action log; nil: everything is in memory only.
    package var log: LogSettings?
    /// The bus that this machine shares with others; nil: it is this machine's alone.
    package var cluster: ClusterSettings?
    package var limits: Limits
    /// Who may do what, or the path of the file that says it; nil: everybody may do all but what is kept for operators.
    package var access: LocatedValue?

    package init(
        listen: [ListenAddress] = [], tokens: Located<String>? = nil, types: Located<String>? = nil,
        stores: [Located<String>] = [], log: LogSettings? = nil, cluster: ClusterSettings? = nil,
        limits: Limits = Limits()
    ) {
        self.log = log
        self.cluster = cluster
        self.listen = listen
        self.tokens = tokens
        self.types = types
        self.stores = stores
        self.limits = limits
    }

    /// The default path of the configuration.
    package static let defaultFile = "/etc/fluxbus/fluxbusd.yaml"

    /// Reads the configuration: flags override the environment, which overrides the file. The file may be absent when
    /// it was not named and an address to listen on was given otherwise, or none is needed.
    static func load(
        flags: ConfigurationOverrides, environment: ConfigurationOverrides, defaultFile: String,
        purpose: Purpose = .serving, _ errors: inout ConfigurationErrors
    ) -> ServerConfiguration {
        var configuration = ServerConfiguration()
        let named = flags.config ?? environment.config
        let file = named ?? Located(defaultFile, at: Place(name: defaultFile))
        let isNeeded = purpose == .serving && flags.listen.isEmpty && environment.listen.isEmpty
        if named != nil || FileBytes.exists(file.value) || isNeeded {
            configuration = read(file, &errors)
        }
        let written = configuration.listen
        environment.apply(to: &configuration, &errors)
        flags.apply(to: &configuration, &errors)
        let texts = Set(configuration.listen.map(\.text))
        configuration.replacedAddresses = written.filter {
            !texts.contains($0.text) && ($0.isTCP || $0.tls != nil)
        }
        if purpose == .serving {
            // A log that is wrong is told once.
            if errors.isEmpty { configuration.checkLocalCopy(&errors) }
            configuration.checkAddresses(&errors)
        }
        return configuration
    }

    /// What a configuration is read for.
    package enum Purpose: Sendable {
        /// A bus, or a check whether one would start.
        case serving
        /// Verifying the log, without a bus.
        case verifying
    }

    private static func read(_ file: Located<String>, _ errors: inout ConfigurationErrors)
        -> ServerConfiguration
    {
        let read = errors.collect { () throws(SourceError) in
            let bytes = try FileBytes.read(file, what: "the configuration")
            return try LocatedValue.read(bytes, file: file.value)
        }
        guard let read else { return ServerConfiguration() }
        var reader = ConfigurationReader(file: file.value)
        let configuration = reader.configuration(read)
        errors.addSorted(reader.errors)
        return configuration
    }

    /// A member without a copy of what it has seen could tell nobody when the shared log had lost something.
    private func checkLocalCopy(_ errors: inout ConfigurationErrors) {
        guard let cluster, log == nil else { return }
        errors.add(
            "cluster: needs log:, this machine's copy of what the bus shares; name its file there, such as "
                + "path: /var/lib/fluxbus/bus.sqlite.", at: cluster.place)
    }

    /// Checks what can be wrong although each part is right. Silent where other errors may be the cause.
    private func checkAddresses(_ errors: inout ConfigurationErrors) {
        if let tcp = listen.first(where: \.isTCP), tokens == nil {
            errors.add(
                "TCP needs tokens: name a file of lines NAME TOKEN under tokens:, with --tokens or FLUXBUS_TOKENS.",
                at: tcp.place)
        }
        for address in listen {
            if let files = address.tls, files.clients == nil, tokens == nil {
                errors.add(
                    "TLS needs to know its clients: name their authorities beside it under clients:, or a file of lines "
                        + "NAME TOKEN under tokens:.", at: address.place)
            }
            if address.isBeyondThisMachine, address.tls == nil {
                errors.add(
                    "Beyond this machine TCP needs encryption; write tls: instead of tcp:, with a certificate and a key, "
                        + "or listen on 127.0.0.1 or [::1] instead of \(address.text.dropFirst(4)).",
                    at: address.place)
            } else if address.isBeyondThisMachine, access == nil {
                errors.add(
                    "Whoever reaches this machine could try this address, so it needs access rules; write them under access:, as access.yaml beside the sample configuration shows.",
                    at: address.place)
            }
        }
        if listen.isEmpty, errors.errors.isEmpty {
            errors.add(
                "There is no address to listen on; add one under listen:, such as unix: /run/fluxbus/bus.sock.",
                at: types?.place ?? Place(name: "listen"))
        }
        for (index, address) in listen.enumerated() {
            guard let first = listen[..<index].first(where: { $0.text == address.text }) else { continue }
            if case .tcp(let address) = first.kind, address.port == 0 { continue }
            errors.add(
                FileWords.duplicate("address", address.text), at: address.place)
        }
    }
}
