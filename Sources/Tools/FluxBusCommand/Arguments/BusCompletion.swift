import BusJSON
import FluxBus

/// Names that a shell offers while a command is typed, read from the running bus. Without a bus there are none: a shell
/// must not wait, and an error would only disturb the line.
enum BusCompletion {
    /// How long a shell may hang before it gets nothing.
    private static let patience = Duration.milliseconds(300)
    /// How many stores are offered: more is no help.
    private static let mostStores = 200

    /// Types and stores.
    @Sendable static func targets(arguments: [String], index: Int, prefix: String) -> [String] {
        (prefix.contains("/") ? [] : types(arguments: arguments, index: index, prefix: prefix))
            + stores(arguments: arguments, index: index, prefix: prefix)
    }

    @Sendable static func types(arguments: [String], index: Int, prefix: String) -> [String] {
        ask(BusRequest("types"), arguments)?["types"]?.array?.compactMap { $0["type"]?.string } ?? []
    }

    @Sendable static func stores(arguments: [String], index: Int, prefix: String) -> [String] {
        let request = BusRequest("stores", ["limit": .int(mostStores)])
        return ask(request, arguments)?["stores"]?.array?.compactMap { $0["store"]?.string } ?? []
    }

    /// The actions of the type that the words before name, by itself or in a store's address;
    /// of all types where none does.
    @Sendable static func actions(arguments: [String], index: Int, prefix: String) -> [String] {
        guard let start = arguments.lastIndex(where: ["dispatch", "log", "on"].contains) else { return [] }
        let words = arguments[(start + 1)...].filter { !$0.hasPrefix("-") }
        let type = words.first?.split(separator: "/").first.map(String.init)
        if type == nil, arguments[start] != "log" { return [] }
        let reply = ask(BusRequest("types", ["type": type.map(JSON.string)]), arguments)
        let names = (reply?["types"]?.array ?? []).flatMap { $0["actions"]?.object?.keys ?? [] }
        return Array(Set(names)).sorted(by: UTF8Order.precedes)
    }

    /// The ids of the clients.
    @Sendable static func clients(arguments: [String], index: Int, prefix: String) -> [String] {
        let request = BusRequest("clients", ["limit": .int(mostStores)])
        return ask(request, arguments)?["clients"]?.array?.compactMap { $0["id"]?.encoded } ?? []
    }

    private static func ask(_ request: BusRequest, _ arguments: [String]) -> JSONObject? {
        guard var options = try? GlobalOptions.parse([]) else { return nil }
        for (option, value) in zip(arguments, arguments.dropFirst()) where option == "--address" {
            options.address.append(value)
        }
        options.timeout = TimeSpan(duration: patience)
        let session = CommandSession(options: options, context: .process())
        return try? session.ask(request)
    }
}
