import BusJSON
import BusLogic

/// A session's number. It is never reused.
package typealias SessionID = Int

/// What a client leaves for the time when it is gone: its will, and its ephemeral stores.
///
/// It begins with the first of them, since that is when the log has to know of it, and ends with an entry of its own.
package final class Session {
    package let id: SessionID
    package internal(set) var principal: Principal
    /// The name by which its client takes it over from a connection that has ended; nil for one that ends with it.
    package internal(set) var name: String?
    /// How long it waits for that, in milliseconds.
    package internal(set) var linger = 0
    package internal(set) var will: [WillAction] = []
    package internal(set) var ephemeralStores: Set<Int32> = []
    /// Whether the log knows of it.
    package internal(set) var isLogged = false

    init(_ id: SessionID, _ principal: Principal) {
        self.id = id
        self.principal = principal
    }

    /// As snapshots have it.
    var record: JSONObject {
        var record: JSONObject = [
            "connection": .int(id), "by": (try? JSON(parsing: principal.by)) ?? [:],
        ]
        if let name {
            record["session"] = .string(name)
            record["linger"] = .int(linger)
        }
        if !will.isEmpty { record["will"] = .array(will.map(\.json)) }
        return record
    }

    /// Whether nothing is to be done at its end.
    package var isEmpty: Bool { will.isEmpty && ephemeralStores.isEmpty }

    /// What it is found by, if it has a name.
    fileprivate var fullName: SessionName? { name.map { SessionName(principal.identity, $0) } }
}

/// Whose session it is, and its name.
package struct SessionName: Hashable {
    private let identity: Identity?
    private let name: ExactText

    package init(_ identity: Identity?, _ name: String) {
        self.identity = identity
        self.name = ExactText(name)
    }
}

/// The sessions that have begun and not ended.
struct OpenSessions {
    private var all: [SessionID: Session] = [:]
    /// Those with names, by name; few share one.
    private var named: [SessionName: Set<SessionID>] = [:]
    /// The number of the next one that is new.
    private(set) var next: SessionID = 0

    var count: Int { all.count }
    var inOrder: [Session] { all.values.sorted { $0.id < $1.id } }

    subscript(number: SessionID) -> Session? { all[number] }
    func newest(_ name: SessionName) -> Session? { named[name]?.max().flatMap { all[$0] } }

    mutating func begin(at number: SessionID) { next = number }

    mutating func open(_ number: SessionID, _ principal: Principal) -> Session {
        close(number)
        let session = Session(number, principal)
        all[number] = session
        next = max(next, number + 1)
        return session
    }

    mutating func close(_ number: SessionID) {
        if let session = all[number] { unlist(session) }
        all[number] = nil
    }

    /// Changes what a session is found by.
    mutating func change(_ session: Session, _ body: (Session) -> Void) {
        unlist(session)
        body(session)
        guard all[session.id] === session, let name = session.fullName else { return }
        named[name, default: []].insert(session.id)
    }

    private mutating func unlist(_ session: Session) {
        guard all[session.id] === session, let name = session.fullName else { return }
        named[name]?.remove(session.id)
        if named[name]?.isEmpty == true { named[name] = nil }
    }

    /// Those of another machine are open now, which has these instead.
    mutating func become(_ other: inout OpenSessions) {
        swap(&all, &other.all)
        swap(&named, &other.named)
        next = max(next, other.next)
    }
}

/// One action of a will, checked when the will was left; its stores are looked up when it is applied.
package struct WillAction {
    package let store: String?
    package let type: String?
    package let action: String
    package let payload: JSONObject

    /// As it stood in the request.
    package var json: JSON {
        var object: JSONObject = ["action": .string(action), "payload": .object(payload)]
        if let store { object["store"] = .string(store) }
        if let type { object["type"] = .string(type) }
        return .object(object)
    }
}

extension WillAction {
    package init?(_ json: JSON) {
        guard let action = json["action"]?.string, let payload = json["payload"]?.object else { return nil }
        self.init(store: json["store"]?.string, type: json["type"]?.string, action: action, payload: payload)
    }
}
