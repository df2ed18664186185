import BusEngine
import BusJSON
import BusLogic

/// Load on a bus in memory: an engine without sockets, turns of requests, and readers that take everything at once.
///
/// Benchmarks measure how long a turn takes, and tests count its memory; both use the same turns.
package final class MemoryLoad {
    /// The contents of the bus before the first turn.
    package struct Setting: Equatable, Sendable {
        /// Stores of the type; requests go to all of them, or to the first, `counter/s0`.
        package var stores = 1
        /// Connections that are notified of every change of the type.
        package var subscribers = 0
        /// Connections that subscribe to stores of their own, which do not change.
        package var idleSubscribers = 0
        /// Members of each state beside the one that changes, about 20 bytes each.
        package var members = 0
        /// Views of the type: how many, and whether they read the member that changes.
        package var views = 0
        package var areViewsMeant = false
        /// Whether there is an index of the value that each ten stores have for themselves.
        package var isIndexed = false
        /// Expressions that each mean ten stores that no request changes, with ten subscribers each.
        package var conditions = 0
        /// Whether requests name the first store only.
        package var isInstance = false
        /// The format of changes: `merge`, `patch` or `state`.
        package var format = "merge"
        /// The kind of requests.
        package var request = Request.increment
        package init() {}

        /// Whether each ten stores have a value for themselves.
        fileprivate var hasGroups: Bool { isIndexed || conditions > 0 || request == .find }
    }

    package enum Request: Equatable, Sendable {
        /// Increments, all requests alike.
        case increment
        /// The same, each with a key of its own, so that it may be sent again.
        case keyedIncrement
        /// Only a reply.
        case ping
        /// Reads the ten stores that have a value.
        case find
        /// Those of a kind, to as many stores of two types as the setting has.
        case kind(RequestKind)
    }

    private static let start = 1_795_000_000_000

    private let engine: Engine
    private let sender: ConnectionID
    private let pieces = UnsafeMutableBufferPointer<OutputPiece>.allocate(capacity: 64)
    private var now = MemoryLoad.start
    private let setting: Setting
    /// Bytes that readers took.
    package private(set) var bytesTaken = 0

    /// Throws when the definition is refused, which a test would see.
    package init(_ setting: Setting) throws {
        self.setting = setting
        let configuration = EngineConfiguration(
            epoch: "7c1f6a52-9a43-4a7e-8c55-2f0d8e5b1a90", ownUID: 0, version: "work")
        engine = Engine(configuration, types: try Self.types(of: setting))
        engine.beginTurn(at: now)
        sender = engine.connect(.unix(uid: 1000, pid: 1))
        for store in 0..<setting.stores {
            for type in setting.request.types {
                let state = setting.hasGroups ? #","state":{"group":\#(store / 10)}"# : ""
                send(#"{"op":"create","store":"\#(type)/s\#(store)"\#(state)}"#, from: sender)
            }
        }
        take()
        for _ in 0..<setting.subscribers {
            for type in setting.request.types {
                subscribe(#"{"op":"subscribe","type":"\#(type)","format":"\#(setting.format)"}"#)
            }
        }
        for reader in 0..<10 * setting.conditions {
            let group = 1 + reader % setting.conditions
            subscribe(#"{"op":"subscribe","type":"counter","where":"group == \#(group)"}"#)
        }
        for reader in 0..<setting.idleSubscribers {
            subscribe(#"{"op":"subscribe","store":"counter/quiet\#(reader)"}"#)
        }
        // First states of many stores take many turns.
        for _ in 0..<setting.stores / 100 { turn([]) }
    }

    deinit { pieces.deallocate() }

    private static func types(of setting: Setting) throws -> [DeclaredType] {
        guard case .kind = setting.request else {
            return try [DeclaredType(definition: definition(of: setting))]
                + (0..<setting.views).map { try DeclaredType(definition: view($0, setting.areViewsMeant)) }
        }
        return try RequestKind.definitions.map { try DeclaredType(definition: JSON(parsing: Array($0.utf8))) }
    }

    private static func definition(of setting: Setting) -> JSON {
        var initial: JSONObject = ["count": 0]
        for member in 0..<setting.members { initial["member\(member)"] = .string("value\(member)") }
        if setting.hasGroups { initial["group"] = 0 }
        var definition: JSONObject = [
            "type": "counter", "initial": .object(initial),
            "actions": [
                "increment": [
                    "payload": ["by": ["type": "integer", "default": 1]],
                    "increment": ["count": ["var": "payload.by"]],
                ]
            ],
        ]
        if setting.isIndexed { definition["index"] = "group" }
        return .object(definition)
    }

    private static func view(_ number: Int, _ isMeant: Bool) -> JSON {
        let member = isMeant ? "count" : "member0"
        let values: JSON = [
            "counters": "count()", "sum": .string("sum(\(member))"), "most": .string("max(\(member))"),
        ]
        return [
            "type": .string("view\(number)"),
            "view": ["of": "counter", "values": values],
        ]
    }

    private func subscribe(_ request: String) {
        send(request, from: engine.connect(.unix(uid: 1000, pid: 2)))
        take()
    }

    private func send(_ line: String, from connection: ConnectionID) {
        var line = line + "\n"
        line.withUTF8 { engine.receive(connection, UnsafeRawBufferPointer($0)) }
        engine.serveAll()
    }

    /// The bytes of this many requests, for `turn`. Keys are those of the round: other rounds have others.
    package func requests(_ count: Int, round: Int = 0) -> [UInt8] {
        let lines = (0..<count).map { number in
            let id = 100_000 + number
            switch setting.request {
            case .ping: return #"{"op":"ping","id":\#(id)}"#
            case .increment: return increment(id, "")
            case .find:
                return #"{"op":"get","id":\#(id),"type":"counter","where":"group == \#(number % 100)"}"#
            case .kind(let kind):
                let target = RequestKind.Target(stores: setting.stores, prefix: "s", keys: "Zq3vT0aPx")
                return kind.line(round * count + number, of: 1, to: target)
            case .keyedIncrement: return increment(id, #","key":"\#(round)-\#(id)""#)
            }
        }
        return Array(lines.map { $0 + "\n" }.joined().utf8)
    }

    private func increment(_ id: Int, _ key: String) -> String {
        let target = setting.isInstance ? #""store":"counter/s0""# : #""type":"counter""#
        return #"{"op":"dispatch","id":\#(id),\#(target),"action":"increment","payload":{"by":1}\#(key)}"#
    }

    /// One turn: requests are executed, and all readers take their output.
    package func turn(_ requests: [UInt8]) {
        now += 1
        engine.beginTurn(at: now)
        engine.tick()
        requests.withUnsafeBytes { engine.receive(sender, $0) }
        engine.serveAll()
        take()
    }

    /// Time in which nothing happens.
    package func pause(milliseconds: Int) {
        now += milliseconds
        engine.beginTurn(at: now)
        engine.tick()
        take()
    }

    private func take() {
        var taken = 0
        engine.takeReady { connection in
            while true {
                let filled = engine.output(of: connection, into: pieces)
                var count = 0
                for index in 0..<filled { count += pieces[index].count }
                if count == 0 { break }
                taken += count
                engine.sent(connection, count)
            }
        }
        bytesTaken += taken
    }
}

extension MemoryLoad.Request {
    /// The types of the stores there are.
    fileprivate var types: [String] {
        if case .kind(let kind) = self { kind.types } else { ["counter"] }
    }
}
