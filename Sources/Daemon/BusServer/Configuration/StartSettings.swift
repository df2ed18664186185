/// The settings that only a start takes. A reload reads them, too, and tells which are no longer those in force.
package struct StartSettings: Sendable {
    private let listen: [String]
    private let stores: Set<String>
    private let log: KeyValuePairs<String, String>?
    private let cluster: KeyValuePairs<String, String>?

    package init(_ setup: ServerSetup) {
        let configuration = setup.configuration
        listen = configuration.listen.map(\.opened).sorted()
        stores = Set(configuration.stores.map(\.value))
        log = configuration.log?.values
        cluster = configuration.cluster?.values(password: setup.etcdPassword)
    }

    /// Those that another configuration has otherwise, by their names in the file: an element of `listen` is `listen`; `log`
    /// and `cluster` are whole if only one of both has them.
    package func differences(in next: StartSettings) -> [String] {
        var names: [String] = []
        if listen != next.listen { names.append("listen") }
        if stores != next.stores { names.append("stores") }
        func compare(
            _ name: String, _ now: KeyValuePairs<String, String>?, _ next: KeyValuePairs<String, String>?
        ) {
            guard let now, let next else {
                if (now == nil) != (next == nil) { names.append(name) }
                return
            }
            for (old, new) in zip(now, next) where old.value != new.value {
                names.append("\(name).\(new.key)")
            }
        }
        compare("log", log, next.log)
        compare("cluster", cluster, next.cluster)
        return names
    }
}

extension ServerConfiguration {
    /// The names of all settings of the file; before that of a member stands the name of what it is a member of.
    package static let settings: [String] = ConfigurationReader.members.flatMap { name in
        switch name {
        case "listen": [name] + ConfigurationReader.companions.flatMap(\.value).map { "listen.\($0)" }
        case "log": LogReading.settings.map { "log.\($0)" }
        case "cluster": ClusterReading.members.map { "cluster.\($0)" }
        case "limits":
            LimitReading.names.filter { $0 != "user" }.map { "limits.\($0)" }
                + LimitReading.userNames.map { "limits.user.\($0)" }
        default: [name]
        }
    }
}

extension ListenAddress {
    /// All that opening it goes by. The files of TLS are read again for new connections.
    fileprivate var opened: String {
        if case .unix(_, let mode, let group) = kind { "\(text) \(mode) \(group ?? "")" } else { text }
    }
}
