import BusJSON
import BusLogic
import BusSource
import BusState
import BusYAML
import Testing

/// One store of a declared type, driven as the engine does it: rejected actions are taken back through the
/// undo log, and the size that the draft follows is held against the state after every step.
final class StoreBench: StoreReader {
    let who: JSON = ["roles": [], "uid": 1000, "user": "ada", "unit": .null, "token": .null]

    let type: DeclaredType
    let address: String
    var state: JSONObject
    /// States of other stores, by address.
    var others: [String: JSONObject] = [:]
    let undoLog = UndoLog()
    private(set) lazy var context = CommitContext(
        reader: self, budget: commitBudget, storeBudget: storeBudget)
    private let commitBudget: Budget
    private let storeBudget: Budget
    /// Whether writes that the payload alone determines go their own way, as they do in the engine.
    var plansWrites = true
    /// How many dispatches did.
    private(set) var planned = 0

    init(_ type: DeclaredType, store: Budget = .ofStore, commit: Budget = .ofStore) {
        self.type = type
        address = "\(type.name)/kitchen"
        state = type.initial
        storeBudget = store
        commitBudget = commit
    }

    convenience init(_ yaml: String, store: Budget = .ofStore, commit: Budget = .ofStore) throws {
        self.init(try DeclaredType(LocatedValue.read(yaml, file: "test.yaml")), store: store, commit: commit)
    }

    /// A bench for a definition that no file may have any more, as an old log does: it writes or reads what is not
    /// there.
    convenience init(accepted yaml: String) throws {
        self.init(try DeclaredType(accepted: LocatedValue.read(yaml, file: "test.yaml")))
    }

    func address(of store: Int) -> String { address }
    func state(at address: String) -> JSONObject? { others[address] }
    func storeCount(ofType type: String) -> Int { addresses(ofType: type).count }
    func addresses(ofType type: String) -> [String] {
        others.keys.filter { $0.hasPrefix(type + "/") }.sorted()
    }

    /// Commits an action to the store; false when `when` leaves it alone.
    @discardableResult
    func dispatch(_ action: String, _ payload: JSONObject = [:]) throws -> Bool {
        let index = try #require(type.actionNames.firstIndex(of: action))
        let accepted = try type.accept(payload, for: index)
        context.budget = commitBudget
        let mark = undoLog.count
        let size = state.encodedSize
        var end = size
        defer { #expect(end == state.encodedSize, "The draft's size must follow the state.") }
        do throws(Rejection) {
            return try withUnsafeMutablePointer(to: &state) { pointer throws(Rejection) in
                var draft = Draft(pointer, size: size, undoLog: undoLog)
                defer { end = draft.size }
                if carryOutPlain(index, accepted, on: &draft) { return true }
                return try type.commit(index, payload: accepted, to: &draft, in: context)
            }
        } catch {
            undoLog.undo(to: mark, in: &state)
            end = size
            throw error
        }
    }

    private func carryOutPlain(_ action: Int, _ payload: JSONObject, on draft: inout Draft) -> Bool {
        guard plansWrites, let plain = type.precomputedWrites(of: action),
            plain.operations <= min(commitBudget.operations, storeBudget.operations)
        else { return false }
        defer { plain.letGo() }
        let fits = withUnsafePointer(to: payload) { plain.take($0) }
        guard fits, draft.carryOut(UnsafeBufferPointer(plain.writes)) else { return false }
        context.budget.operations -= plain.operations
        planned += 1
        return true
    }

    /// The message of the rejection that an action must end with; the state must be as before.
    func rejection(of action: String, _ payload: JSONObject = [:]) throws -> Rejection {
        let before = state
        let failure = #expect(throws: Rejection.self) { try dispatch(action, payload) }
        #expect(state == before)
        return try #require(failure)
    }

    /// The paths that were written since `mark`, in order.
    func written(since mark: Int = 0) -> [[String]] {
        (mark..<undoLog.count).map { undoLog.records[$0].path }
    }

    /// What the last commit spent.
    var spent: Budget {
        Budget(
            operations: commitBudget.operations - context.budget.operations,
            bytes: commitBudget.bytes - context.budget.bytes)
    }
}

/// Evaluates JsonLogic written as JSON text.
func evaluate(_ rule: String, on data: JSON = .null, budget: Budget = .ofStore) throws -> JSON {
    try Expression.compile(JSON(parsing: rule)).evaluate(on: data, budget: budget)
}

/// The reason for which JsonLogic written as JSON text must fail.
func failure(of rule: String, on data: JSON = .null, budget: Budget = .ofStore) throws -> EvaluationFailure {
    let expression = try Expression.compile(JSON(parsing: rule))
    return try #require(
        #expect(throws: EvaluationFailure.self) { try expression.evaluate(on: data, budget: budget) })
}
