import BusSource

/// The settings of flags or variables. A list given here replaces the list below it; it does not add to it.
package struct ConfigurationOverrides: Sendable {
    package var config: Located<String>?
    package var listen: [Located<String>] = []
    package var tokens: Located<String>?
    package var types: Located<String>?
    package var stores: [Located<String>] = []
    /// `NAME=VALUE`
    package var limits: [Located<String>] = []
    /// The file of the action log, and when it is synced.
    package var log: Located<String>?
    package var sync: Located<String>?

    /// From the command line.
    package init(
        config: String? = nil, listen: [String] = [], tokens: String? = nil, types: String? = nil,
        stores: [String] = [], limits: [String] = [], log: String? = nil, sync: String? = nil
    ) {
        self.config = config.map { Located($0, at: Place(name: "--config")) }
        self.listen = listen.map { Located($0, at: Place(name: "--listen")) }
        self.tokens = tokens.map { Located($0, at: Place(name: "--tokens")) }
        self.types = types.map { Located($0, at: Place(name: "--types")) }
        self.stores = stores.map { Located($0, at: Place(name: "--store")) }
        self.limits = limits.map { Located($0, at: Place(name: "--limit")) }
        self.log = log.map { Located($0, at: Place(name: "--log")) }
        self.sync = sync.map { Located($0, at: Place(name: "--sync")) }
    }

    /// From the environment: `FLUXBUS_CONFIG`, `FLUXBUS_TOKENS`, `FLUXBUS_TYPES`, `FLUXBUS_LOG`, `FLUXBUS_SYNC`, and
    /// the lists `FLUXBUS_LISTEN`, `FLUXBUS_STORES` and `FLUXBUS_LIMITS`, whose elements are divided by spaces or
    /// commas. An empty variable counts as absent.
    package init(environment: [String: String]) {
        func one(_ name: String) -> Located<String>? {
            environment[name].flatMap { $0.isEmpty ? nil : Located($0, at: Place(name: name)) }
        }
        func list(_ name: String) -> [Located<String>] {
            let elements = environment[name]?.split { $0 == " " || $0 == "," || $0 == "\n" || $0 == "\t" }
            return (elements ?? []).map { Located(String($0), at: Place(name: name)) }
        }
        config = one("FLUXBUS_CONFIG")
        listen = list("FLUXBUS_LISTEN")
        tokens = one("FLUXBUS_TOKENS")
        types = one("FLUXBUS_TYPES")
        stores = list("FLUXBUS_STORES")
        limits = list("FLUXBUS_LIMITS")
        log = one("FLUXBUS_LOG")
        sync = one("FLUXBUS_SYNC")
    }

    func apply(to configuration: inout ServerConfiguration, _ errors: inout ConfigurationErrors) {
        if !listen.isEmpty {
            configuration.listen = listen.compactMap { address in
                errors.collect { () throws(SourceError) in
                    try ListenText.read(address.value, at: address.place)
                }
            }
        }
        if let tokens { configuration.tokens = tokens }
        if let types { configuration.types = types }
        if !stores.isEmpty { configuration.stores = stores }
        if let log { configuration.log = LogReading.settings(path: log, over: configuration.log) }
        if let sync {
            _ = errors.collect { () throws(SourceError) in
                try LogReading.set(sync: sync, in: &configuration.log)
            }
        }
        for limit in limits {
            _ = errors.collect { () throws(SourceError) in
                try LimitReading.set(limit.value, in: &configuration.limits, at: limit.place)
            }
        }
    }
}
