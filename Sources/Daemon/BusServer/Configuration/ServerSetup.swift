import BusDefinitions
import BusEngine
import BusHistory
import BusJSON
import BusLog
import BusLogic
import BusMachine
import BusProtocol
import BusSource
import BusTLS
import Glibc
import TypeTesting

/// A configuration whose types, tokens and stores were read and fit together: everything that can be checked before a
/// socket is opened. This is what `--check` makes.
package struct ServerSetup: Sendable {
    package var configuration: ServerConfiguration
    /// Ascending by name.
    package let types: [any StateType]
    /// Those of them that are defined in files.
    private let catalog: TypeCatalog?
    package let tokens: TokenTable
    /// The password of `cluster.user`, as its file had it; empty without a user.
    package let etcdPassword: String
    /// Who may do what.
    package let rules: AccessRules?
    /// What keeps no daemon from starting, and is a mistake for `--check` and for a reload.
    let doubts: ConfigurationErrors
    /// The certificates of addresses with TLS, by their text in the configuration.
    let contexts: [String: TLSContext]
    /// Types that the daemon has without a file.
    let natives: [any StateType]
    /// The source of the configuration, to read it again; nil when it was made in code.
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
        try load(flags, environment, defaultFile, natives, purpose, since: nil)
    }

    private static func load(
        _ flags: ConfigurationOverrides, _ environment: ConfigurationOverrides, _ defaultFile: String,
        _ natives: [any StateType], _ purpose: ServerConfiguration.Purpose, since earlier: ServerSetup?
    ) throws(StartFailure) -> ServerSetup {
        var errors = ConfigurationErrors()
        let configuration = ServerConfiguration.load(
            flags: flags, environment: environment, defaultFile: defaultFile, purpose: purpose, &errors)
        var setup = try ServerSetup(configuration, natives: natives, since: earlier, errors)
        setup.source = Source(flags: flags, environment: environment, defaultFile: defaultFile)
        return setup
    }

    /// The setup to work with a log alone. If a flag or a variable names the log, no configuration is read.
    package static func loadForLog(
        flags: ConfigurationOverrides, environment: ConfigurationOverrides, natives: [any StateType] = []
    ) throws(StartFailure) -> ServerSetup {
        guard let path = flags.log ?? environment.log else {
            return try load(flags: flags, environment: environment, natives: natives)
        }
        return try ServerSetup(ServerConfiguration(log: LogSettings(path: path)), natives: natives)
    }

    /// Reads types and tokens, and checks the stores; finds all errors in them.
    package init(_ configuration: ServerConfiguration, natives: [any StateType] = []) throws(StartFailure) {
        try self.init(configuration, natives: natives, since: nil, ConfigurationErrors())
    }

    private init(
        _ configuration: ServerConfiguration, natives: [any StateType], since earlier: ServerSetup?,
        _ found: ConfigurationErrors
    ) throws(StartFailure) {
        var errors = found
        self.configuration = configuration
        self.natives = natives
        let tokens = configuration.tokens.map { TokenTable.read($0, &errors) }
        configuration.cluster?.checkFiles(&errors)
        etcdPassword = configuration.cluster?.password(&errors) ?? ""
        contexts = Self.contexts(of: configuration.listen, &errors)
        catalog = configuration.types.flatMap {
            Self.catalog(in: $0, beside: natives, since: earlier?.catalog, &errors)
        }
        // The stores of types that could not be read can't be checked.
        let isKnown = configuration.types == nil || catalog != nil
        types = Self.inOrder(natives + (catalog?.types ?? []))
        self.tokens = tokens ?? TokenTable()
        // What rules say of types that could not be read can't be checked.
        var doubts = ConfigurationErrors()
        rules =
            isKnown
            ? AccessReading.rules(
                configuration, types: types, tokens: self.tokens, &errors, doubts: &doubts) : nil
        self.doubts = doubts
        Self.checkStores(configuration, types: isKnown ? types : nil, &errors)
        try errors.throwIfAny()
    }

    /// Reloads everything: configuration, types, tokens.
    package func reloaded() throws(StartFailure) -> ServerSetup {
        let next =
            if let source {
                try Self.load(
                    source.flags, source.environment, source.defaultFile, natives, .serving, since: self)
            } else {
                try ServerSetup(configuration, natives: natives, since: self, ConfigurationErrors())
            }
        try next.doubts.throwIfAny()
        return next
    }

    /// What the operator is told at a start that nothing keeps from going on.
    package var warnings: [String] {
        doubts.errors.lines
            + configuration.replacedAddresses.map { address in
                "\(address.place.file):\(address.place.line): nobody listens on \(address.text), because --listen or FLUXBUS_LISTEN names other addresses; take that away, or give it all of them."
            }
    }

    /// What rules do not allow that may seem to, for who checks them.
    package var remarks: [String] {
        let rules = (rules?.rules ?? []).filter { $0.may.contains(.manage) && !$0.grantsManage }
        return rules.map { rule in
            "\(rule.place.file):\(rule.place.line): all is about some stores only here, so it does not include manage, which is about the whole bus."
        }
    }

    private static func contexts(
        of addresses: [ListenAddress], _ errors: inout ConfigurationErrors
    ) -> [String: TLSContext] {
        var contexts: [String: TLSContext] = [:]
        for address in addresses {
            contexts[address.text] = address.tls?.context(at: address.place, &errors)
        }
        return contexts
    }

    /// The types in a directory; nil when there are errors in them.
    private static func catalog(
        in directory: Located<String>, beside natives: [any StateType], since earlier: TypeCatalog?,
        _ errors: inout ConfigurationErrors
    ) -> TypeCatalog? {
        var found: [SourceError] = []
        let catalog = TypeCatalog(directory: directory.value, beside: natives, since: earlier, &found)
        for error in found {
            // An error of the directory itself is reported where it was named.
            if error.line == 0, error.file == directory.value {
                errors.add("The types directory \(error.description)", at: directory.place)
            } else {
                errors.add(error)
            }
        }
        return found.isEmpty ? catalog : nil
    }

    private static func inOrder(_ types: [any StateType]) -> [any StateType] {
        types.sorted { UTF8Order.precedes($0.name, $1.name) }
    }

    private static func checkStores(
        _ configuration: ServerConfiguration, types: [any StateType]?, _ errors: inout ConfigurationErrors
    ) {
        var seen: Set<String> = []
        for store in configuration.stores {
            guard let type = StoreAddressText.type(of: store.value) else {
                errors.add(
                    "\(store.value) is not a store's address; write TYPE/NAME, such as counter/main.",
                    at: store.place)
                continue
            }
            if !seen.insert(store.value).inserted {
                errors.add(
                    FileWords.duplicate("store", store.value), at: store.place)
            }
            // Without types their stores can't be checked.
            guard let names = types?.map(\.name), !names.contains(type) else { continue }
            errors.add(
                "There is no type \(type); \(suggestion(for: type, among: names))", at: store.place)
        }
        if configuration.stores.count > configuration.limits.bus.stores, let last = configuration.stores.last
        {
            errors.add(
                "There are \(configuration.stores.count) stores, but limits.stores allows "
                    + "\(configuration.limits.bus.stores); raise it.", at: last.place)
        }
    }

    /// One line for the operator: what this daemon serves.
    package func summary(addresses: [String]) -> String {
        let names = types.map(\.name)
        let typeList = names.isEmpty ? "no types" : "types \(names.joined(separator: ", "))"
        let stores = configuration.stores.count
        let storeText = stores == 1 ? "1 configured store" : "\(stores) configured stores"
        let member = configuration.cluster.map { "; member \($0.member) of the bus \($0.bus.value)" } ?? ""
        return "\(addresses.joined(separator: ", ")); \(typeList); \(storeText)\(member)"
    }
}

/// Addresses of stores as written in the configuration.
enum StoreAddressText {
    /// The type in `type/name`; nil when this is no address.
    static func type(of address: String) -> String? {
        var address = address
        return address.withUTF8 { bytes in
            AddressParts(UnsafeRawBufferPointer(bytes)).map { String(decoding: $0.type, as: UTF8.self) }
        }
    }
}

/// What a start needs of the machine, as far as it can be checked before anything is opened. `--check` and a start make
/// the same checks, so what the one accepts the other does not refuse.
extension ServerSetup {
    /// Throws all errors at once that would keep a daemon from starting here, and what the tests of its types find. Nothing
    /// is created or changed. Gives how many tests were run.
    @discardableResult
    package func check(runsTests: Bool = true) throws(StartFailure) -> Int {
        var errors = ConfigurationErrors()
        checkPlaces(&errors)
        var rehearsal = EngineConfiguration(epoch: "", ownUID: 0, version: Version.text)
        rehearsal.limits = configuration.limits
        createStores(in: Engine(rehearsal, types: types), &errors)
        if errors.isEmpty { checkLog(&errors) }
        for doubt in doubts.errors { errors.add(doubt) }
        let tests = runsTests ? runTests(&errors) : 0
        try errors.throwIfAny()
        return tests
    }

    private func runTests(_ errors: inout ConfigurationErrors) -> Int {
        guard let catalog else { return 0 }
        var found: [SourceError] = []
        let suite = TypeTestSuite(catalog, in: configuration.types?.value, beside: natives, &found)
        for test in suite.tests {
            for failure in suite.run(test) {
                found.append(
                    SourceError("The test \(test.name) fails: \(failure.message)", at: failure.place))
            }
        }
        for error in found { errors.add(error) }
        return suite.tests.count
    }

    /// Checks that the types fit the stores in the log, as a start does.
    private func checkLog(_ errors: inout ConfigurationErrors) {
        guard let path = configuration.log?.path, access(path.value, F_OK) == 0 else { return }
        do throws(PastFailure) {
            let past = try LogPast(path: path.value)
            // A log that was never used.
            if try past.snapshots().isEmpty { return }
            let machine = try Replayer(knowing: natives, hashSeed: .random(in: .min ... .max)).machine(
                from: past)
            machine.limits = configuration.limits.bus
            do throws(Redefinition.Refusal) {
                _ = try machine.redefinition(with: types, access: rules, isWithConnected: false)
            } catch {
                errors.add(error, of: types, log: path.place)
            }
        } catch {
            // What can't be read now may be readable when the daemon starts.
            if error.kind == .damaged { errors.add(error.message, at: path.place) }
        }
    }

    /// The same for sockets and log only: errors of stores are reported by the engine that creates them.
    package func checkPlaces() throws(StartFailure) {
        var errors = ConfigurationErrors()
        checkPlaces(&errors)
        try errors.throwIfAny()
    }

    private func checkPlaces(_ errors: inout ConfigurationErrors) {
        for address in configuration.listen {
            guard case .unix(let path, let mode, let group) = address.kind else { continue }
            let listening = UnixListening(path: path, mode: mode, group: group, place: address.place)
            for error in listening.errors() { errors.add(error) }
        }
        guard let path = configuration.log?.path else { return }
        do throws(LogFailure) {
            try LogFile.check(path.value)
        } catch {
            // Any other error may be gone when the daemon starts.
            if [.readOnly, .notALog, .newerForm].contains(error.kind) {
                errors.add(error.message, at: path.place)
            }
        }
    }

    /// Creates the configured stores that do not exist.
    ///
    /// - Parameter unkeptOnly: Only those of types of which the log keeps nothing.
    func createStores(
        in engine: Engine, unkeptOnly: Bool = false, _ errors: inout ConfigurationErrors
    ) {
        for store in configuration.stores {
            do {
                try engine.createConfigured(store.value, unkeptOnly: unkeptOnly)
            } catch {
                errors.add("The store \(store.value): \(error.message)", at: store.place)
            }
        }
    }
}

/// Why the daemon does not start: all errors that can be found at once, and the exit code.
package struct StartFailure: Error, Equatable, CustomStringConvertible {
    /// Exit codes of sysexits(3).
    package enum Code: Int32, Sendable {
        /// An address is in use, by another fluxbusd or by another program: try again later.
        case inUse = 75
        /// This member of a bus has to begin again, with another copy or another history. The process does so, and does not end.
        case beginsAgain = 69
        /// The system refused something for which the configuration is not to blame.
        case system = 71
        /// The action log was verified, and is damaged.
        case damaged = 65
        /// This member of a bus has made something else of the shared log than the others.
        case diverged = 70
        /// The action log can't be read or written.
        case log = 74
        /// The configuration or a definition is wrong.
        case configuration = 78
    }

    package let code: Code
    /// Each is one sentence that says what to do, after its place: `FILE:LINE:COLUMN: message`.
    package let messages: [String]

    package init(_ code: Code, _ messages: [String]) {
        self.code = code
        self.messages = messages
    }

    package init(_ code: Code, _ message: String) { self.init(code, [message]) }

    package var description: String { messages.joined(separator: "\n") }
}
