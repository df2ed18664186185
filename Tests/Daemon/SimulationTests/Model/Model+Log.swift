import BusJSON

/// The entries of a log, carried out by the model: which commits there were it takes from them, what came of those it works out.
extension Model {
    mutating func replay(_ entry: JSON) throws {
        guard let first = entry["revision"]?.int, first == revision + 1 else {
            throw Violation("The log goes on behind \(revision) with \(entry)")
        }
        for _ in 0..<(entry["times"]?.int ?? 1) { try replayOnce(entry) }
    }

    private mutating func replayOnce(_ entry: JSON) throws {
        let uid = entry["by"]?["uid"]?.int ?? 0
        var applied = Applied(stores: stores)
        let actions = (entry["actions"]?.array ?? []).map { Action($0) }
        do {
            guard try actions.flatMap({ try plan($0) }) == actions else {
                throw Violation("The log lacks defaults: \(entry)")
            }
            if !actions.isEmpty { applied = try apply(actions) }
        } catch let refusal as Refusal {
            throw Violation("The model refuses what is in the log, with \(refusal.code): \(entry)")
        }
        let (matched, changed) = (applied.matched.count, applied.changed.count)
        for (address, state) in entry["created"]?.object?.members.map({ ($0.key, $0.value) }) ?? [] {
            guard applied.stores[address] == nil, state == ModelActions.initial(of: Self.type(of: address))
            else { throw Violation("The log makes another store than the model: \(entry)") }
            applied.stores[address] = Store(
                state: state, revision: revision + 1, creator: uid, owner: entry["connection"]?.int)
        }
        for address in entry["dropped"]?.array?.compactMap(\.string) ?? [] {
            guard applied.stores.removeValue(forKey: address) != nil else {
                throw Violation("The log drops what the model does not have: \(entry)")
            }
        }
        for (address, state) in entry["states"]?.object?.members.map({ ($0.key, $0.value) }) ?? [] {
            guard let past = entry["reverted"]?["to"]?.int, commits[past]?.states[address] == state else {
                throw Violation("The log goes back to what was not: \(entry)")
            }
            applied.stores[address]?.state = state
        }
        commit(applied.stores, actions, by: uid, matched: matched, changed: changed)
    }
}

extension Model.Action {
    /// An action as a batch, a cause and the log have it.
    init(_ json: JSON) {
        kind = json["store"] == nil ? "type" : "store"
        target = json[kind]?.string ?? ""
        name = json["action"]?.string ?? ""
        payload = json["payload"]?.object ?? [:]
    }
}
