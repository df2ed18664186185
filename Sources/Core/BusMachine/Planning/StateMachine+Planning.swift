import BusJSON
import BusLogic
import BusProtocol

/// Resolves requests into a plan: what they name, and their payloads with defaults filled in.
extension StateMachine {
    /// Plans a dispatch that has no options. `mayRepeat`: a dispatch like one planned before is planned as that was.
    /// True if it reaches more than one store.
    package func planPlain(_ request: RequestReader, mayRepeat: Bool) throws(RequestError) -> Bool {
        plan.clear()
        if mayRepeat, planAgain(request) { return isPlanWide }
        try planOne(request, Precondition(), nil)
        rememberPlan(in: request)
        return isPlanWide
    }

    /// A plain dispatch is done. Nothing of it may outlive it: the next payload is read into its storage.
    package func endPlain(_ request: RequestReader) {
        if !request.hasBatch {
            if let step = plan.steps.popLast() { request.returnPayload(step.payload) }
            plan.clear()
        } else {
            end(request.batch)
        }
    }

    /// Gives the payloads of a batch back to it, and clears the plan.
    func end(_ batch: RequestBatch) {
        let elements = batch.elements
        if plan.steps.count == elements.count {
            var place = elements.count
            while place > 0, let step = plan.steps.popLast() {
                place &-= 1
                elements[place].payload = step.payload
            }
        }
        plan.clear()
    }

    /// Plans a dispatch like an earlier one, if its names still stand for the same and its payload is accepted
    /// as it is; false for any other.
    @inline(__always)
    private func planAgain(_ request: RequestReader) -> Bool {
        guard let known = request.resolved, known.pointee.names == nameChanges else { return false }
        // The machine holds its types, and nothing here changes them.
        return Unmanaged.passUnretained(types[Int(known.pointee.type)])._withUnsafeGuaranteedRef { entry in
            let action = Int(known.pointee.action)
            guard known.pointee.definition == entry.definitions else { return false }
            if known.pointee.store == ResolvedDispatch.unknownStore {
                guard let found = locate(request.store), found.type == known.pointee.type else {
                    return false
                }
                known.pointee.store = found.store
            }
            let payload = request.present.contains(.payload) ? request.takePayload() : JSONObject()
            guard entry.takes(payload, for: action) else {
                request.returnPayload(payload)
                return false
            }
            plan.actions.append(.init(steps: 0..<1))
            plan.steps.append(
                .init(type: entry, action: action, payload: payload, store: known.pointee.store))
            return true
        }
    }

    /// Remembers what the names of a plain dispatch stand for, for the next one like it.
    private func rememberPlan(in request: RequestReader) {
        guard plan.steps.count == 1, plan.actions[0].payloadForEveryType == nil else { return }
        let step = plan.steps[0]
        request.resolved?.pointee = ResolvedDispatch(
            type: step.type.index, action: Int32(step.action), store: step.store,
            definition: step.type.definitions, names: nameChanges)
    }

    /// Plans a dispatch; `wanted` is what its store must be like for somebody with these grants.
    package func planDispatch(
        _ request: RequestReader, where wanted: Precondition = Precondition(), seenBy grants: Grants? = nil
    ) throws(RequestError) {
        guard request.present.contains(.actions) else { return try planOne(request, wanted, grants) }
        if request.hasBatch { return try planBatch(request) }
        let actions = try request.array(.actions) ?? []
        try requireBatch(of: actions.count, in: request)
        for (index, element) in actions.enumerated() {
            do throws(RequestError) {
                let element = try BatchElement(
                    element, place: "actions[\(index)]", inDispatch: rules >= BusLimits.rulesOfConditions)
                try planElement(element, inDispatch: index, seenBy: grants)
            } catch {
                throw error.at(index)
            }
        }
    }

    /// Plans an action of a batch, which may say what its store must be like for somebody with these grants.
    package func planElement(
        _ element: BatchElement, inDispatch index: Int, seenBy grants: Grants?
    ) throws(RequestError) {
        try planElement(element, index)
        if element.isStore { try demand(element.precondition, seenBy: grants) }
    }

    /// Throws unless a request can be a batch of so many elements.
    package func requireBatch(of count: Int, in request: RequestReader) throws(RequestError) {
        if request.present.containsAny(of: Self.insideActions) {
            for member in [Member.type, .store, .action, .payload, .where, .if, .ifRevision]
            where request.present.contains(member) {
                throw .invalid(member.name, "`\(member.name)` belongs inside `actions` here; leave it out.")
            }
        }
        guard count > 0 else { throw .invalid("actions", "`actions` is empty; name at least one action.") }
        try requireRoom(for: count)
    }

    private static let insideActions = MemberSet(
        .type, .store, .action, .payload, .where, .if, .ifRevision)

    private func requireRoom(for count: Int) throws(RequestError) {
        guard count <= limits.batch else {
            throw RequestError(
                .limit, "A dispatch takes at most \(limits.batch) actions; send several dispatches.")
        }
    }

    /// Plans the batch of a request that has one.
    package func planBatch(_ request: RequestReader) throws(RequestError) {
        try requireBatch(of: request.batch.count, in: request)
        try plan(request.batch)
    }

    /// Plans a batch as it stands in the line.
    @inline(__always)
    func plan(_ batch: RequestBatch) throws(RequestError) {
        let elements = batch.elements
        for place in 0..<elements.count {
            let element = elements.baseAddress! + place
            if element.pointee.isStore, let found = locate(element.pointee.target),
                plan(element, place, at: found)
            {
                continue
            }
            do throws(RequestError) {
                try planNames(
                    element.pointee.isStore, element.pointee.target, element.pointee.action,
                    element.pointee.payload, place)
            } catch {
                throw error.at(place)
            }
        }
    }

    /// Plans an action of a store that is there, if the type has it and takes the payload as it is, which moves into the plan;
    /// else nothing.
    @inline(__always)
    private func plan(
        _ element: UnsafeMutablePointer<RequestBatch.Element>, _ index: Int, at found: Location
    ) -> Bool {
        // The machine holds its types, and nothing here changes them.
        Unmanaged.passUnretained(types[Int(found.type)])._withUnsafeGuaranteedRef { entry in
            guard let action = number(of: element, in: entry) else { return false }
            let payload = element.pointee.takePayload()
            guard entry.takes(payload, for: action) else {
                element.pointee.payload = payload
                return false
            }
            let step = plan.steps.count
            plan.actions.append(.init(steps: step..<step &+ 1, index: index))
            plan.steps.append(.init(type: entry, action: action, payload: payload, store: found.store))
            return true
        }
    }

    /// The number of an element's action; in a batch like one before it is known.
    @inline(__always)
    private func number(
        of element: UnsafeMutablePointer<RequestBatch.Element>, in entry: TypeEntry
    ) -> Int? {
        if let known = element.pointee.resolved, known.pointee.type == entry.index,
            known.pointee.definition == entry.definitions, known.pointee.names == nameChanges
        {
            return Int(known.pointee.action)
        }
        guard let action = entry.action(named: element.pointee.action) else { return nil }
        element.pointee.resolved?.pointee = ResolvedDispatch(
            type: entry.index, action: Int32(action), store: ResolvedDispatch.unknownStore,
            definition: entry.definitions, names: nameChanges)
        return action
    }

    /// Makes the last step, which is about one store, depend on what the store is like.
    private func demand(_ wanted: Precondition, seenBy grants: Grants?) throws(RequestError) {
        try require(wanted.revision, of: plan.steps[plan.steps.count - 1].store, seenBy: grants)
        if let condition = wanted.condition { try plan.demand(condition, seenBy: grants) }
    }

    private func planOne(
        _ request: RequestReader, _ wanted: Precondition, _ grants: Grants?
    ) throws(RequestError) {
        guard request.present.contains(.action) else {
            throw .invalid("action", "Name the `action` to dispatch, or list several in `actions`.")
        }
        let hasStore = request.present.contains(.store)
        guard hasStore != request.present.contains(.type) else {
            throw .target(isGivenTwice: hasStore)
        }
        let payload = request.present.contains(.payload) ? request.payload : JSONObject()
        guard hasStore || wanted.revision == nil else { throw Precondition.withoutStore(.ifRevision) }
        guard hasStore || wanted.condition == nil else { throw Precondition.withoutStore(.if) }
        guard !hasStore || wanted.filter == nil else { throw Precondition.filterOfStore() }
        try planNames(hasStore, hasStore ? request.store : request.type, request.action, payload)
        if let filter = wanted.filter { try plan.choose(by: try self.filter(filter), from: 0) }
        if hasStore { try demand(wanted, seenBy: grants) }
    }

    /// Plans the actions of a log entry.
    package func plan(_ actions: [JSON]) throws(RequestError) {
        plan.clear()
        for (index, action) in actions.enumerated() {
            try planElement(
                try BatchElement(action.asRequested, place: "actions[\(index)]", mayChoose: true))
        }
    }

    /// Plans one action of a batch or a will.
    func planElement(_ element: BatchElement, _ index: Int = -1) throws(RequestError) {
        let first = plan.steps.count
        try element.withNames { (target, action) throws(RequestError) in
            try planNames(element.isStore, target, action, element.payload, index)
        }
        if let filter = element.precondition.filter {
            try plan.choose(by: try self.filter(filter), from: first)
        }
    }

    /// Plans an action by its names; `place`: which of a batch it is.
    private func planNames(
        _ isStore: Bool, _ target: UnsafeRawBufferPointer, _ action: UnsafeRawBufferPointer,
        _ payload: JSONObject, _ place: Int = -1
    ) throws(RequestError) {
        if !isStore, target.count == 1, target[0] == UInt8(ascii: "*") {
            return try planEveryType(action, payload, place)
        }
        let entry = try requireType(isStore ? try requireAddress(target).type : target)
        let actionIndex = try requireAction(action, of: entry)
        let accepted = try accept(payload, for: actionIndex, of: entry)
        let store = isStore ? try requireStore(target).1 : -1
        plan.actions.append(.init(steps: plan.steps.count..<plan.steps.count + 1, index: place))
        plan.steps.append(.init(type: entry, action: actionIndex, payload: accepted, store: store))
    }

    /// Plans an action for every type that declares it, as the classic Flux dispatcher does:
    /// types waited for come first.
    private func planEveryType(
        _ action: UnsafeRawBufferPointer, _ payload: JSONObject, _ place: Int
    ) throws(RequestError) {
        let first = plan.steps.count
        for entry in commitOrder {
            guard let actionIndex = entry.action(named: action) else { continue }
            let accepted = try accept(payload, for: actionIndex, of: entry)
            plan.steps.append(.init(type: entry, action: actionIndex, payload: accepted, store: -1))
        }
        guard plan.steps.count > first else {
            let name = String(decoding: action.prefix(80), as: UTF8.self)
            throw RequestError(
                .unknownAction, "No state type has an action `\(name)`; see what there is with types.")
        }
        let steps = first..<plan.steps.count
        if rules < 2 {
            return plan.actions.append(.init(steps: steps, payloadForEveryType: payload, index: place))
        }
        let told = plan.steps[first].payload
        if steps.allSatisfy({ plan.steps[$0].payload == told && plan.steps[$0].redacted.isEmpty }) {
            return plan.actions.append(.init(steps: steps, payloadForEveryType: told, index: place))
        }
        // Where types fill in different defaults, the action is one for each of them.
        try requireRoom(toTell: steps)
        for step in steps { plan.actions.append(.init(steps: step..<step + 1, index: place)) }
    }

    /// Throws if the payloads of an action that is told for each type are too long together.
    private func requireRoom(toTell steps: Range<Int>) throws(RequestError) {
        let bytes = steps.reduce(0) { $0 + plan.steps[$1].payload.encodedSize }
        guard bytes > limits.payloads else { return }
        throw RequestError(
            .tooLarge,
            "The payload goes to \(steps.count) types that fill in different defaults, with \(bytes) bytes in all; \(limits.payloads) is the limit, so send less, or dispatch to each type."
        )
    }

    @inline(__always)
    func accept(
        _ payload: JSONObject, for action: Int, of entry: TypeEntry
    ) throws(RequestError) -> JSONObject {
        if entry.takes(payload, for: action) { return payload }
        // The log has digests where a schema may ask for something else.
        if context.isReplaying, !entry.redacted(of: action).isEmpty { return payload }
        do throws(PayloadFailure) {
            return try entry.type.accept(payload, for: action)
        } catch {
            throw RequestError(.invalidPayload, error.message).with(
                "action", .string(entry.actionName(action)))
        }
    }

    /// Throws unless a store has the expected revision, if one is expected, for somebody with these grants.
    package func require(
        _ expected: Int?, of store: Int32, seenBy grants: Grants?
    ) throws(RequestError) {
        guard let expected else { return }
        let actual = revision(of: store, seenBy: grants)
        if actual == expected { return }
        throw RequestError(
            .conflict,
            "\(address(of: Int(store))) is at revision \(actual), not \(expected); read it again and decide anew."
        ).with("revision", .int(actual))
    }

    /// Throws if the operations do not suffice for the stores that the plan reaches, and those that its drops by value look at: it
    /// is not begun.
    package func requireBudget(atMost most: Int = .max) throws(RequestError) {
        let operations = min(most, limits.commit)
        var reached = plan.needsCare && rules >= BusLimits.rulesOfCopies ? plan.choosable : 0
        if reached &* BusLimits.operationsPerStore > operations { throw reachesTooMany(operations) }
        for index in plan.steps.indices {
            reached &+= plan.reach(ofStep: index)
            if reached &* BusLimits.operationsPerStore <= operations { continue }
            let step = plan.steps[index]
            throw reachesTooMany(operations).with("action", .string(step.type.actionName(step.action)))
        }
    }

    private func reachesTooMany(_ operations: Int) -> RequestError {
        let bound = operations == limits.commit ? "limits.commit is" : "a will has"
        return RequestError(
            .rejected,
            "The dispatch reaches more stores than one commit may: \(bound) \(operations) operations, \(BusLimits.operationsPerStore) for each store and more for what is written; dispatch to fewer at a time."
        )
    }
}
