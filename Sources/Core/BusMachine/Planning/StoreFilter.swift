import BusJSON
import BusLogic
import BusProtocol

/// An expression that says which stores are meant: `where` of a request. A store on which it has no value, because a member
/// is missing or of another kind, is not meant.
package struct StoreFilter: Sendable {
    /// As the request has it: a text, or an object of JsonLogic.
    package let source: JSON
    package let expression: Expression

    /// Its source, by which equal ones are recognised: equal texts may have other bytes.
    private var bytes: [UInt8] { Array(source.encoded.utf8) }

    /// What it takes in memory, about, in bytes.
    package var memory: Int {
        ConditionCache.compiledByte * source.encodedSize + expression.constantBytes
    }

    /// What of a state it may read.
    package var reads: StateReads { expression.stateReads }
}

extension StoreFilter: Hashable {
    package static func == (one: StoreFilter, other: StoreFilter) -> Bool { one.bytes == other.bytes }
    package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

extension StateMachine {
    /// The `where` of a request; nil without one. Throws where that can't be understood.
    package func requestedFilter(in request: RequestReader) throws(RequestError) -> StoreFilter? {
        guard let source = request.value(.where) else { return nil }
        return try filter(source)
    }

    /// Throws where that can't be understood.
    package func filter(_ source: JSON) throws(RequestError) -> StoreFilter {
        try Self.requireForm(of: source, as: .where)
        return StoreFilter(
            source: source, expression: try plan.conditionCache.expression(source, as: .where))
    }

    /// Whether a store is meant by a filter, as far as it is seen; `operations` grows by what that took, reading
    /// included. One that takes more than a store may is not.
    package func matches(
        _ store: Int32, _ filter: StoreFilter, seenAs visibility: Grants.Visibility, _ meta: JSON,
        _ operations: inout Int
    ) -> Bool {
        var budget = Budget.ofStore
        budget.reading = BusLimits.commitReading
        let whole = budget
        defer { operations += whole.operations(spentLeaving: budget) }
        let state = state(of: store, seenAs: visibility)
        return (try? holds(filter.expression, on: store, state, meta, &budget)) ?? false
    }

    /// Whether a store is meant by a filter in the commit that is being made. Throws where that can't be paid for: whether it
    /// is would depend on what else the commit spends.
    func matches(
        _ store: Int32, _ filter: StoreFilter, _ meta: JSON, _ budget: inout Budget
    ) throws(RequestError) -> Bool {
        do throws(EvaluationFailure) {
            let state = stores.pointer(store).pointee.state
            return try holds(filter.expression, on: store, state, meta, &budget)
        } catch .operations where budget.operations <= 0 {
            throw RequestError(
                .rejected,
                "The commit's budget is used up by `where`; have it look at fewer stores, or at less of each."
            )
        } catch .operations, .bytes, .reading, .tooDeep {
            let type = type(of: store).name
            throw tooExpensive(.where, on: store).withheld(
                by: RequestError(
                    .rejected, "`where` takes more on a store of \(type) than one store may; shorten it."))
        } catch {
            return false
        }
    }

    /// How many stores a step of the plan looks at, at most.
    package func reach(ofStep index: Int) -> Int {
        let found = plan.filter(ofStep: index).flatMap { plan.steps[index].type.lookUp($0)?.found.count }
        return found ?? plan.reach(ofStep: index)
    }

    /// A store's state as far as it is seen.
    package func state(of store: Int32, seenAs visibility: Grants.Visibility) -> JSONObject {
        switch visibility {
        case .nothing: [:]
        case .parts(let selection): selection.project(stores.pointer(store).pointee.state)
        case .whole: stores.pointer(store).pointee.state
        }
    }

    /// Whether a client's expression holds on a store with a state. Throws where it has no value.
    func holds(
        _ expression: Expression, on store: Int32, _ state: JSONObject, _ meta: JSON, _ budget: inout Budget
    ) throws(EvaluationFailure) -> Bool {
        let address = expression.stateReads.address ? address(of: Int(store)) : ""
        return try budget.spendAsOneStore { (share) throws(EvaluationFailure) in
            try expression.holds(on: state, of: address, meta, spending: &share)
        }
    }

    /// What a client's expression sees as `meta` in the commit that is being made.
    var metaOfCommit: JSON {
        ["time": .double(Double(time) / 1000), "revision": .int(revision + 1)]
    }

    /// The refusal of a member that takes more than one store may spend.
    func tooExpensive(_ member: Member, on store: Int32) -> RequestError {
        let address = address(of: Int(store))
        return RequestError(
            .rejected, "`\(member.name)` takes more on \(address) than one store may; shorten it."
        ).with("store", .string(address))
    }
}
