import BusJSON

/// What a bus with the sample types must come to, worked out from the requests alone.
///
/// It takes nothing from the engine but the order in which that took the lines of its clients: no state, no revision, no
/// reply. It is slow and plain on purpose: a commit copies every state it may change, and nothing is remembered between two.
struct Model {
    struct Store: Equatable {
        var state: JSON
        /// Its last commit that changed something.
        var revision: Int
        let creator: Int
        /// The client with which it goes.
        let owner: Int?
    }

    struct Action: Equatable {
        /// `type` or `store`.
        let kind: String
        let target: String
        let name: String
        let payload: JSONObject

        /// As causes and the log have it.
        var json: JSON {
            [kind: .string(target), "action": .string(name), "payload": .object(payload)]
        }

        /// Types it reaches, in this order.
        var types: [String] { target == "*" ? ModelActions.types : [Model.type(of: target)] }

        /// With defaults filled in: one action, or one for each type where a dispatch to `*` gets different defaults.
        func accepted() throws -> [Action] {
            let payloads = try types.map { try ModelActions.accept(payload, for: name, of: $0) }
            if payloads.allSatisfy({ $0 == payloads[0] }) {
                return [Action(kind: kind, target: target, name: name, payload: payloads[0])]
            }
            return zip(types, payloads).map { type, payload in
                Action(kind: "type", target: type, name: name, payload: payload)
            }
        }
    }

    /// What a revision is.
    struct Commit {
        let states: [String: JSON]
        let actions: [Action]
        let uid: Int
        /// How many stores its actions reached and changed.
        let matched: Int
        let changed: Int
    }

    /// The largest state, encoded.
    let stateLimit: Int
    /// The longest line.
    let lineLimit: Int
    private(set) var stores: [String: Store] = [:]
    private(set) var revision = 0
    private(set) var commits: [Int: Commit] = [:]
    private var wills: [Int: [Action]] = [:]
    /// The numbers of each client's subscriptions: the last, and those that there are.
    private var subscriptions: [Int: (last: Int, open: Set<Int>)] = [:]
    /// By identity and key.
    var keys: [Int: [String: (request: JSON, revision: Int, matched: Int, changed: Int)]] = [:]

    init(stateLimit: Int, lineLimit: Int) {
        self.stateLimit = stateLimit
        self.lineLimit = lineLimit
        commits[0] = Commit(states: [:], actions: [], uid: 0, matched: 0, changed: 0)
    }

    var states: [String: JSON] { stores.mapValues(\.state) }

    // MARK: Commits

    mutating func commit(
        _ next: [String: Store], _ actions: [Action], by uid: Int, matched: Int = 0, changed: Int = 0
    ) {
        revision += 1
        stores = next
        commits[revision] = Commit(
            states: states, actions: actions, uid: uid, matched: matched, changed: changed)
    }

    mutating func create(_ address: String, by uid: Int, owner: Int?) {
        var next = stores
        let state = ModelActions.initial(of: Self.type(of: address))
        next[address] = Store(state: state, revision: revision + 1, creator: uid, owner: owner)
        commit(next, [], by: uid)
    }

    mutating func drop(_ address: String, by uid: Int) {
        var next = stores
        next[address] = nil
        commit(next, [], by: uid)
    }

    mutating func leave(_ will: [Action], of client: Int) { wills[client] = will }

    mutating func subscribe(_ client: Int) -> Int {
        let number = (subscriptions[client]?.last ?? 0) + 1
        subscriptions[client, default: (0, [])].last = number
        subscriptions[client, default: (0, [])].open.insert(number)
        return number
    }

    mutating func unsubscribe(_ client: Int, _ number: Int) throws {
        guard subscriptions[client]?.open.remove(number) != nil else { throw Refusal("invalid_request") }
    }

    /// What the end of a client's connection comes to; nil when it is no commit.
    func end(of client: Int) -> (next: [String: Store], actions: [Action])? {
        var (next, done) = (stores, [Action]())
        if let will = wills[client], !will.isEmpty,
            let planned = try? will.flatMap({ try plan($0) }), let outcome = try? apply(planned)
        {
            (next, done) = (outcome.stores, planned)
        }
        let left = next.filter { $0.value.owner != client }
        return done.isEmpty && left.count == next.count ? nil : (left, done)
    }

    /// A client's connection ends.
    mutating func finish(_ client: Int, by uid: Int) {
        if let (next, actions) = end(of: client) { commit(next, actions, by: uid) }
        forget(client)
    }

    mutating func forget(_ client: Int) {
        wills[client] = nil
        subscriptions[client] = nil
    }

    // MARK: Actions

    struct Applied {
        var stores: [String: Store]
        var matched: Set<String> = []
        var changed: Set<String> = []
    }

    static func type(of address: String) -> String { String(address.prefix { $0 != "/" }) }

    /// An action as it is committed, if there is what it names.
    func plan(_ action: Action) throws -> [Action] {
        let accepted = try action.accepted()
        if action.kind == "store", stores[action.target] == nil { throw Refusal("unknown_store") }
        return accepted
    }

    /// The stores after all of the actions, or none of them.
    func apply(_ actions: [Action]) throws -> Applied {
        var result = Applied(stores: stores)
        for action in actions {
            for type in action.types {
                let payload = try ModelActions.accept(action.payload, for: action.name, of: type)
                var refusals: Set<String> = []
                for address in stores.keys where Self.type(of: address) == type {
                    if action.kind == "store", address != action.target { continue }
                    do throws(Refusal) {
                        try apply(action.name, payload, to: address, of: type, &result)
                    } catch {
                        refusals.insert(error.code)
                    }
                }
                if let code = refusals.first {
                    var refusal = Refusal(code)
                    refusal.others = refusals
                    throw refusal
                }
            }
        }
        for address in result.matched where result.stores[address]?.state != stores[address]?.state {
            result.changed.insert(address)
            result.stores[address]?.revision = revision + 1
        }
        return result
    }

    private func apply(
        _ action: String, _ payload: JSONObject, to address: String, of type: String, _ result: inout Applied
    ) throws(Refusal) {
        guard let old = result.stores[address]?.state else { return }
        let new: JSON
        do {
            new = try ModelActions.state(old, after: action, payload, of: type)
        } catch {
            throw error as? Refusal ?? .rejected
        }
        if new.encodedSize > stateLimit { throw Refusal("too_large") }
        result.stores[address]?.state = new
        result.matched.insert(address)
    }
}
