import BusJSON
import BusLogic
import BusProtocol
import BusState

/// What a client wants a store to be like before its request changes it, or which stores are meant.
package struct Precondition: Sendable {
    /// The revision that the store has.
    package let revision: Int?
    /// An expression that holds for it: a text, or an object of JsonLogic.
    package var condition: JSON? { expressions?.condition }
    /// `where`, beside a type.
    package var filter: JSON? { expressions?.filter }

    /// Most requests have none, and a batch has many elements.
    private final class Expressions: Sendable {
        let condition: JSON?
        let filter: JSON?

        init(_ condition: JSON?, _ filter: JSON?) { (self.condition, self.filter) = (condition, filter) }
    }

    private let expressions: Expressions?

    package init(revision: Int? = nil, condition: JSON? = nil, filter: JSON? = nil) {
        self.revision = revision
        expressions = condition == nil && filter == nil ? nil : Expressions(condition, filter)
    }

    package var isEmpty: Bool { revision == nil && condition == nil }

    /// The members of a request that say it.
    package static let members = MemberSet(.if, .ifRevision)

    /// The refusal of `where` where a store is the target.
    static func filterOfStore(in element: String = "") -> RequestError {
        let name = element + Member.where.name
        return .invalid(
            name, "`\(name)` goes with `type`: it says which stores are meant; `if` is a condition on one.")
    }

    /// The refusal of one of them where a type is the target; `element`: which of a batch that is.
    static func withoutStore(_ member: Member, in element: String = "") -> RequestError {
        let reason =
            member == .if
            ? "it is a condition on one store" : "a type has no revision of its own"
        return .invalid(element + member.name, "`\(element)\(member.name)` goes with `store`; \(reason).")
    }
}

/// The conditions of requests, compiled. Programs repeat theirs, so those that came lately are kept.
package final class ConditionCache {
    private var known: [[UInt8]: Expression] = [:]
    private var bytes = 0
    /// The bytes of those that were compiled since that was asked last.
    private var compiled = 0

    /// What an expression takes in memory for each byte of its source, about.
    static let compiledByte = 50
    /// What the compiled conditions take in memory at most, about, in bytes.
    private static let most = 3 << 20

    package func takeCompiledBytes() -> Int {
        defer { compiled = 0 }
        return compiled
    }

    /// The condition that a member of a request is.
    func expression(_ condition: JSON, as member: Member = .if) throws(RequestError) -> Expression {
        // By its bytes: equal texts may have others.
        let source = Array(condition.encoded.utf8)
        if let known = known[source] { return known }
        compiled += source.count
        let expression: Expression
        do {
            expression = try Expression.compile(condition: condition, name: member.name)
        } catch {
            throw .invalid(member.name, "`\(member.name)` can't be understood: \(error.message)")
        }
        // To work a constant out takes time, too.
        compiled += expression.constantBytes >> 6
        let size = Self.compiledByte * source.count + expression.constantBytes
        if bytes + size > Self.most { (known, bytes) = ([:], 0) }
        known[source] = expression
        bytes += size
        return expression
    }
}

extension StateMachine {
    /// What a request wants its store to be like. Throws where that can't be understood.
    package func requestedPrecondition(in request: RequestReader) throws(RequestError) -> Precondition {
        let condition = request.value(.if)
        if let condition {
            try Self.requireForm(of: condition)
            _ = try plan.conditionCache.expression(condition)
        }
        return Precondition(
            revision: try request.integer(.ifRevision), condition: condition,
            filter: try requestedFilter(in: request)?.source)
    }

    /// Throws where a condition is neither a text nor an object, or longer than a condition may be.
    static func requireForm(of condition: JSON, as member: Member = .if) throws(RequestError) {
        let name = member.name
        switch condition {
        case .string, .object: break
        default:
            throw .invalid(
                name,
                "`\(name)` must be an expression: text such as \"count < 3\", or an object of JsonLogic.")
        }
        guard condition.encodedSize <= BusLimits.condition else {
            throw RequestError(
                .tooLarge,
                "`\(name)` has at most \(BusLimits.condition) bytes; shorten it, or let the type have a computed value for it."
            ).with("member", .string(name))
        }
        guard condition.nests(atMost: BusLimits.depthOfCondition) else {
            throw RequestError(
                .tooLarge, "`\(name)` nests more than \(BusLimits.depthOfCondition) levels deep; shorten it."
            ).with("member", .string(name))
        }
    }

    /// Throws unless a store is as its client wants it, as far as somebody with these grants sees the store.
    package func require(
        _ wanted: Precondition, of store: Int32, seenBy grants: Grants?
    ) throws(RequestError) {
        try require(wanted.revision, of: store, seenBy: grants)
        guard let condition = wanted.condition else { return }
        try counting(commitBudget) { (budget) throws(RequestError) in
            try compileBudget(condition.encodedSize, &budget)
            try require(condition, of: store, seenBy: grants, &budget)
        }
    }

    /// Takes what it costs to compile conditions of so many bytes, also where they are known: all members of a shared bus
    /// count alike.
    func compileBudget(_ bytes: Int, _ budget: inout Budget) throws(RequestError) {
        budget.operations -= bytes * BusLimits.operationsPerConditionByte
        if budget.operations < 0 {
            throw RequestError(
                .rejected,
                "The conditions of the dispatch are longer than one commit may have; do less in one.")
        }
    }

    /// Throws unless a condition holds for a store.
    func require(
        _ condition: JSON, of store: Int32, seenBy grants: Grants?, _ budget: inout Budget
    ) throws(RequestError) {
        let expression = try plan.conditionCache.expression(condition)
        let reason: String
        do throws(EvaluationFailure) {
            let state = seen(store, by: grants)
            if try holds(expression, on: store, state, metaOfCommit, &budget) { return }
            reason = "does not hold on \(address(of: Int(store)))"
        } catch .operations, .bytes, .reading, .tooDeep {
            throw tooExpensive(.if, on: store)
        } catch {
            reason = "has no value on \(address(of: Int(store))): \(error)"
        }
        throw RequestError(.conflict, "`if` \(reason); read it again and decide anew.")
            .with("store", .string(address(of: Int(store))))
            .with("revision", .int(revision(of: store, seenBy: grants)))
    }

    /// A store's state as far as somebody sees it, as if there were nothing else.
    private func seen(_ store: Int32, by grants: Grants?) -> JSONObject {
        state(of: store, seenAs: grants.map { visibility(of: store, to: $0) } ?? .whole)
    }
}
