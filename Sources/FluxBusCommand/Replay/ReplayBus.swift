import BusEngine
import BusJSON
import BusLogic
import BusProtocol

/// A bus in memory that carries recorded commits out again: at their times, under their numbers, by their users, so
/// that expressions read what they read then.
final class ReplayBus {
    /// Why something recorded could not be carried out.
    struct Refusal: Equatable {
        let code: String
        let message: String

        init(_ error: JSON?) {
            code = error?["code"]?.string ?? "internal"
            message = error?["message"]?.string ?? "The bus refused without saying why."
        }
    }

    /// The types that a reload brings in; the engine asks for them while it carries that out.
    private final class Shelf {
        var types: [any StateType]
        init(_ types: [any StateType]) { self.types = types }
    }

    private let engine: Engine
    private let shelf: Shelf
    private var clients: [Int: ReplayClient] = [:]
    /// Who may do everything, and whose user id no expression comes to see.
    private static let root = 0

    /// A bus with these types, which must not wait for each other in a circle.
    init(types: [any StateType], epoch: String) {
        let shelf = Shelf(types)
        self.shelf = shelf
        var configuration = EngineConfiguration(epoch: epoch, ownUID: Self.root, version: "replay")
        configuration.limits = Self.limits
        configuration.tokenName = { $0 }
        configuration.loadTypes = { () throws(ReloadFailure) in shelf.types }
        engine = Engine(configuration, types: types)
    }

    /// What was committed once fitted the limits then; here none is in the way but what bounds recursion.
    private static var limits: Limits {
        var limits = Limits()
        limits.line = 256 << 20
        limits.depth = 256
        limits.state = 256 << 20
        limits.stores = Int(Int32.max)
        limits.batch = 1 << 30
        limits.commit = 1 << 40
        limits.outbox = 512 << 20
        limits.memory = 1 << 46
        return limits
    }

    // MARK: - What is carried out

    /// Makes a store as it was at the recording's base; gives why it does not fit its type.
    func begin(with address: String, _ state: JSON) -> Refusal? {
        ask(ReplayRequest.create(address, state), uid: Self.root)
    }

    /// Carries out a recorded commit, and gives why a part of it was refused, which then has changed nothing. Stores are
    /// made as `created` has them, a revert brings back `revertedState`, and a reload brings in `definitions`.
    func carryOut(
        _ commit: RecordedCommit, created: JSONObject, revertedState: JSON?, definitions: [any StateType]?
    ) -> Refusal? {
        engine.beginTurn(at: commit.time)
        var refusal: Refusal?
        func carryOut(_ line: String, uid: Int? = ReplayBus.root) {
            // Every part is of one commit, so each has its number.
            engine.goOn(after: commit.revision - 1)
            let answer = ask(line, uid: uid)
            refusal = refusal ?? answer
        }
        if !commit.actions.isEmpty { carryOut(ReplayRequest.dispatch(commit.actions), uid: commit.uid) }
        for member in created { carryOut(ReplayRequest.create(member.key, member.value)) }
        for address in commit.dropped { carryOut(ReplayRequest.drop(address)) }
        if let (store, _) = commit.reverted {
            if engine.state(at: store) != nil { carryOut(ReplayRequest.drop(store)) }
            if let revertedState { carryOut(ReplayRequest.create(store, revertedState)) }
        }
        if let definitions {
            shelf.types = definitions
            carryOut("{\"op\":\"reload\"}")
        }
        engine.goOn(after: commit.revision)
        return refusal
    }

    private func ask(_ line: String, uid: Int?) -> Refusal? {
        let client = client(of: uid)
        let reply = client.ask(line)
        return reply["ok"]?.bool == true ? nil : Refusal(reply["error"])
    }

    /// One connection for each user; whoever has no user id, as clients on TCP, shares one.
    private func client(of uid: Int?) -> ReplayClient {
        if let client = clients[uid ?? -1] { return client }
        let client = ReplayClient(engine, uid: uid)
        clients[uid ?? -1] = client
        return client
    }

    // MARK: - What can be seen

    func state(at address: String) -> JSON? { engine.state(at: address).map(JSON.object) }

    private var typeNames: [String] { shelf.types.map(\.name) }

    /// The stores whose states a commit may have changed.
    func addresses(touchedBy commit: RecordedCommit) -> Set<String> {
        var found: Set<String> = Set(commit.created.keys + commit.dropped + commit.states.keys)
        if let (store, _) = commit.reverted { found.insert(store) }
        var types: Set<String> = []
        for action in commit.actions {
            if let store = action["store"]?.string { found.insert(store) }
            guard let type = action["type"]?.string else { continue }
            types.formUnion(type == "*" ? typeNames : [type])
        }
        if commit.redefines { types.formUnion(typeNames) }
        for type in types { found.formUnion(engine.addresses(ofType: type)) }
        return found
    }
}
