import BusEngine
import BusJSON
import BusLogic
import BusProtocol
import BusYAML

/// A configuration whose types, tokens and stores were read and fit together: everything that can be known
/// before a socket is opened. This is what `--check` makes.
package struct ServerSetup: Sendable {
    package let configuration: ServerConfiguration
    /// Ascending by name.
    package let types: [any StateType]
    package let tokens: TokenTable
    /// Types that the daemon has without a file.
    let natives: [any StateType]
    /// Where the configuration came from, to read it again; nil when it was made by hand.
    private var source: Source?

    private struct Source: Sendable {
        let flags: ConfigurationOverrides
        let environment: ConfigurationOverrides
        let defaultFile: String
    }

    /// Reads the configuration and everything it names. Flags override the environment, which overrides the file.
    package static func load(
        flags: ConfigurationOverrides, environment: ConfigurationOverrides,
        defaultFile: String = ServerConfiguration.defaultFile, natives: [any StateType] = [],
        purpose: ServerConfiguration.Purpose = .serving
    ) throws(StartFailure) -> ServerSetup {
        var complaints = Complaints()
        let configuration = ServerConfiguration.load(
            flags: flags, environment: environment, defaultFile: defaultFile, purpose: purpose, &complaints)
        var setup = try ServerSetup(configuration, natives: natives, complaints)
        setup.source = Source(flags: flags, environment: environment, defaultFile: defaultFile)
        return setup
    }

    /// What is needed to work with a log alone. If a flag or a variable names that, no configuration is read.
    package static func loadForLog(
        flags: ConfigurationOverrides, environment: ConfigurationOverrides, natives: [any StateType] = []
    ) throws(StartFailure) -> ServerSetup {
        guard let path = flags.log ?? environment.log else {
            return try load(flags: flags, environment: environment, natives: natives)
        }
        return try ServerSetup(ServerConfiguration(log: LogSettings(path: path)), natives: natives)
    }

    /// Reads types and tokens, and checks the stores; finds everything that is wrong with them.
    package init(_ configuration: ServerConfiguration, natives: [any StateType] = []) throws(StartFailure) {
        try self.init(configuration, natives: natives, Complaints())
    }

    private init(
        _ configuration: ServerConfiguration, natives: [any StateType], _ earlier: Complaints
    ) throws(StartFailure) {
        var complaints = earlier
        self.configuration = configuration
        self.natives = natives
        let tokens = configuration.tokens.map { TokenTable.read($0, &complaints) }
        let types = Self.types(of: configuration, beside: natives, &complaints)
        Self.checkStores(configuration, types: types, &complaints)
        try complaints.throwIfAny()
        self.tokens = tokens ?? TokenTable()
        self.types = types ?? []
    }

    /// Reads everything anew: configuration, types, tokens.
    package func reloaded() throws(StartFailure) -> ServerSetup {
        guard let source else { return try ServerSetup(configuration, natives: natives) }
        return try Self.load(
            flags: source.flags, environment: source.environment, defaultFile: source.defaultFile,
            natives: natives)
    }

    /// Nil when something is wrong with them.
    private static func types(
        of configuration: ServerConfiguration, beside natives: [any StateType], _ complaints: inout Complaints
    ) -> [any StateType]? {
        guard let directory = configuration.types else { return inOrder(natives) }
        var errors: [SourceError] = []
        let catalog = TypeCatalog(directory: directory.value, beside: natives, &errors)
        for error in errors {
            // What is wrong with the directory itself is told where it was named.
            if error.line == 0, error.file == directory.value {
                complaints.add("The types directory \(error.description)", at: directory.place)
            } else {
                complaints.add(error)
            }
        }
        return errors.isEmpty ? inOrder(natives + catalog.types) : nil
    }

    private static func inOrder(_ types: [any StateType]) -> [any StateType] {
        types.sorted { UTF8Order.precedes($0.name, $1.name) }
    }

    private static func checkStores(
        _ configuration: ServerConfiguration, types: [any StateType]?, _ complaints: inout Complaints
    ) {
        var seen: Set<String> = []
        for store in configuration.stores {
            guard let type = StoreAddressText.type(of: store.value) else {
                complaints.add(
                    "\(store.value) is no store's address; write TYPE/NAME, such as counter/main.",
                    at: store.place)
                continue
            }
            if !seen.insert(store.value).inserted {
                complaints.add(
                    "The store \(store.value) stands here twice; keep one of them.", at: store.place)
            }
            // Without types nothing can be said about theirs.
            guard let names = types?.map(\.name), !names.contains(type) else { continue }
            complaints.add(
                "There is no type \(type); \(suggestion(for: type, among: names))", at: store.place)
        }
        if configuration.stores.count > configuration.limits.stores, let last = configuration.stores.last {
            complaints.add(
                "There are \(configuration.stores.count) stores, but limits.stores allows "
                    + "\(configuration.limits.stores); raise it.", at: last.place)
        }
    }

    /// One line for people: what this daemon serves.
    package func summary(addresses: [String]) -> String {
        let names = types.map(\.name)
        let typeList = names.isEmpty ? "no types" : "types \(names.joined(separator: ", "))"
        let stores = configuration.stores.count
        let storeText = stores == 1 ? "1 configured store" : "\(stores) configured stores"
        return "\(addresses.joined(separator: ", ")); \(typeList); \(storeText)"
    }
}
