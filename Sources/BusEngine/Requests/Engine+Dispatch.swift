import BusJSON
import BusLogic
import BusProtocol

/// Dispatch: resolved into a plan, committed, answered.
extension Engine {
    func dispatch(_ connection: Connection) throws(RequestError) {
        statistics.dispatches += 1
        if request.hasMembersBeyondPlainDispatch { return try dispatchWithOptions(connection) }
        try requireRoom()
        plan.clear()
        defer {
            // Nothing of it may outlive the dispatch: the next payload is read into the place of this one.
            if let step = plan.steps.popLast() { request.returnPayload(step.payload) }
            plan.clear()
        }
        if !planFamiliar() {
            try planDispatch(expected: nil)
            rememberMeaning()
        }
        if isPlanWide, try mustWaitForPlan(connection) { return }
        let matched = try perform(by: connection)
        publish(by: connection.by, actions: true)
        if configuration.reportsFrom == .debug { noteCommit(by: connection, matched: matched) }
        answerDispatch(connection, outcome(matched: matched), duplicate: false)
    }

    /// What came of the commit that has just been published.
    @inline(__always)
    private func outcome(matched: Int, _ digest: KeyMemory.Digest = .none) -> KeyMemory.Entry {
        KeyMemory.Entry(
            digest: digest, revision: revision, matched: matched, changed: publication.changed)
    }

    private func dispatchWithOptions(_ connection: Connection) throws(RequestError) {
        let dryRun = try request.flag(.dryRun, default: false)
        let acknowledged = try request.flag(.ack, default: true)
        let expected = try request.integer(.ifRevision)
        let key = try keyed(connection)
        if !dryRun, let key, let earlier = try duplicate(key) {
            if acknowledged {
                answerDispatch(connection, earlier, duplicate: true)
            } else {
                noteSilent(connection, committedAt: earlier.revision)
            }
            return
        }
        if !dryRun { try requireRoom() }
        plan.clear()
        defer { plan.clear() }
        try planDispatch(expected: expected)
        if isPlanWide, try mustWaitForPlan(connection, isDryRun: dryRun) { return }
        let counts = try perform(by: connection)
        if dryRun { return try answerDryRun(connection, counts) }
        publish(by: connection.by, actions: true, facts: CommitFacts(key: key))
        if configuration.reportsFrom == .debug { noteCommit(by: connection, matched: counts) }
        let outcome = outcome(matched: counts, key?.digest ?? .none)
        if let key { keys.remember(outcome, as: key.id) }
        if acknowledged {
            answerDispatch(connection, outcome, duplicate: false)
        } else {
            noteSilent(connection, committedAt: revision)
        }
    }

    /// Most of what is written is this, so it is written with one look for room.
    @inline(__always)
    private func answerDispatch(_ connection: Connection, _ outcome: KeyMemory.Entry, duplicate: Bool) {
        reply(connection) { writer in
            let id = request.id
            writer.write(atMost: 160 + id.count) { pen in
                pen.append(headOfReplyTo: id)
                pen.append("\"ok\":true,\"revision\":")
                pen.append(decimal: outcome.revision, kept: revisionDigits)
                pen.append(",\"matched\":")
                pen.append(decimal: outcome.matched)
                pen.append(",\"changed\":")
                pen.append(decimal: outcome.changed)
                if duplicate { pen.append(",\"duplicate\":true") }
                pen.append("}\n")
            }
        }
    }

    // MARK: Planning

    /// Plans a dispatch like one before whose names still stand for the same, and whose payload is accepted as it is;
    /// false for any other.
    @inline(__always)
    private func planFamiliar() -> Bool {
        guard let meaning = request.meaning, meaning.names == nameChanges, !isLineLong else { return false }
        // The engine holds its types, and nothing here changes them.
        return Unmanaged.passUnretained(types[Int(meaning.type)])._withUnsafeGuaranteedRef { entry in
            let action = Int(meaning.action)
            guard meaning.definition == entry.definitions else { return false }
            let payload = request.present.contains(.payload) ? request.takePayload() : JSONObject()
            guard entry.takes(payload, for: action) else {
                request.returnPayload(payload)
                return false
            }
            plan.actions.append(.init(steps: 0..<1, payloadForEveryType: nil))
            plan.steps.append(.init(type: entry, action: action, payload: payload, store: meaning.store))
            return true
        }
    }

    /// Keeps what the names of a plain dispatch stand for, for the next one like it.
    private func rememberMeaning() {
        guard plan.steps.count == 1, plan.actions[0].payloadForEveryType == nil else { return }
        let step = plan.steps[0]
        request.meaning = DispatchMeaning(
            type: step.type.index, action: Int32(step.action), store: step.store,
            definition: step.type.definitions, names: nameChanges)
    }

    private func planDispatch(expected: Int?) throws(RequestError) {
        guard let actions = try request.array(.actions) else {
            guard request.present.contains(.action) else {
                throw .invalid("action", "Name the `action` to dispatch, or list several in `actions`.")
            }
            let hasStore = request.present.contains(.store)
            guard hasStore != request.present.contains(.type) else {
                throw .invalid(
                    hasStore ? "type" : "store", "Give either `type` or `store`, not both and not neither.")
            }
            let payload = request.present.contains(.payload) ? request.payload : JSONObject()
            if hasStore {
                let index = try planInstance(request.store, request.action, payload)
                let record = stores.pointer(index)
                if let expected, record.pointee.revision != expected { throw conflict(index, expected) }
                return
            }
            guard expected == nil else {
                throw .invalid(
                    "ifRevision", "`ifRevision` goes with `store`; a type has no revision of its own.")
            }
            return try planGlobal(request.type, request.action, payload)
        }
        for member in [Member.type, .store, .action, .payload, .ifRevision]
        where request.present.contains(member) {
            throw .invalid(member.name, "`\(member.name)` belongs inside `actions` here; leave it out.")
        }
        guard !actions.isEmpty else {
            throw .invalid("actions", "`actions` is empty; name at least one action.")
        }
        guard actions.count <= limits.batch else {
            throw RequestError(
                .limit, "A dispatch takes at most \(limits.batch) actions; send several dispatches.")
        }
        for (index, element) in actions.enumerated() {
            do throws(RequestError) {
                try planElement(try BatchElement(element, place: "actions[\(index)]"))
            } catch {
                throw error.with("index", .int(index))
            }
        }
    }

    /// Plans one action of a batch or a will.
    func planElement(_ element: BatchElement) throws(RequestError) {
        work += Work.batchAction
        var (target, action) = (element.target, element.action)
        let planned = target.withUTF8 { target in
            action.withUTF8 { action in
                let (target, action) = (UnsafeRawBufferPointer(target), UnsafeRawBufferPointer(action))
                return Result { () throws(RequestError) in
                    if element.isStore {
                        try self.planInstance(target, action, element.payload)
                    } else {
                        try self.planGlobal(target, action, element.payload)
                    }
                }
            }
        }
        try planned.get()
    }

    @discardableResult
    private func planInstance(
        _ address: UnsafeRawBufferPointer, _ action: UnsafeRawBufferPointer, _ payload: JSONObject
    ) throws(RequestError) -> Int32 {
        let parts = try requireAddress(address)
        let entry = try requireType(parts.type)
        let actionIndex = try requireAction(action, of: entry)
        let accepted = try accept(payload, for: actionIndex, of: entry)
        let (_, index) = try requireStore(address)
        plan.actions.append(.init(steps: plan.steps.count..<plan.steps.count + 1, payloadForEveryType: nil))
        plan.steps.append(.init(type: entry, action: actionIndex, payload: accepted, store: index))
        return index
    }

    private func planGlobal(
        _ type: UnsafeRawBufferPointer, _ action: UnsafeRawBufferPointer, _ payload: JSONObject
    ) throws(RequestError) {
        if type.count == 1, type[0] == UInt8(ascii: "*") { return try planEveryType(action, payload) }
        let entry = try requireType(type)
        let actionIndex = try requireAction(action, of: entry)
        let accepted = try accept(payload, for: actionIndex, of: entry)
        plan.actions.append(.init(steps: plan.steps.count..<plan.steps.count + 1, payloadForEveryType: nil))
        plan.steps.append(.init(type: entry, action: actionIndex, payload: accepted, store: -1))
    }

    /// The classic Flux dispatcher: every type that declares the action, those waited for first.
    private func planEveryType(_ action: UnsafeRawBufferPointer, _ payload: JSONObject) throws(RequestError) {
        let first = plan.steps.count
        for entry in commitOrder {
            guard let actionIndex = entry.action(named: action) else { continue }
            let accepted = try accept(payload, for: actionIndex, of: entry)
            plan.steps.append(.init(type: entry, action: actionIndex, payload: accepted, store: -1))
        }
        guard plan.steps.count > first else {
            let name = String(decoding: action.prefix(80), as: UTF8.self)
            throw RequestError(
                .unknownAction, "No state type has an action \"\(name)\"; see what there is with types.")
        }
        // Types may fill in different defaults, so the event holds the payload as it was sent.
        plan.actions.append(.init(steps: first..<plan.steps.count, payloadForEveryType: payload))
    }

    @inline(__always)
    func accept(
        _ payload: JSONObject, for action: Int, of entry: TypeEntry
    ) throws(RequestError) -> JSONObject {
        let accepted: JSONObject
        do throws(PayloadFailure) {
            accepted = try entry.type.accept(payload, for: action)
        } catch {
            throw RequestError(.invalidPayload, error.message).with(
                "action", .string(entry.actionName(action)))
        }
        guard !isLineLong || accepted.encodedSize + Limits.eventOverhead <= limits.line
        else {
            throw RequestError(
                .tooLarge, "The payload leaves no room for its event on a line of \(limits.line) bytes.")
        }
        return accepted
    }

    /// Whether what the line brings may make an event longer than a line.
    private var isLineLong: Bool { lineLength >= limits.line / 4 }

    func conflict(_ store: Int32, _ expected: Int) -> RequestError {
        let actual = stores.pointer(store).pointee.revision
        return RequestError(
            .conflict,
            "\(address(of: Int(store))) is at revision \(actual), not \(expected); read it again and decide anew."
        ).with("revision", .int(actual))
    }
}

/// One action of a batch or a will, its members checked.
struct BatchElement {
    let isStore: Bool
    let target: String
    let action: String
    let payload: JSONObject

    init(_ element: JSON, place: String) throws(RequestError) {
        guard case .object(let object) = element else {
            throw .invalid(place, "\(place) must be an object with type or store, action and payload.")
        }
        var (type, store, action, payload): (String?, String?, String?, JSONObject) = (
            nil, nil, nil, JSONObject()
        )
        for member in object.members {
            let name = "\(place).\(member.key)"
            switch (member.key, member.value) {
            case ("type", .string(let text)): type = text
            case ("store", .string(let text)): store = text
            case ("action", .string(let text)): action = text
            case ("payload", .object(let members)): payload = members
            case ("type", _), ("store", _), ("action", _): throw .invalid(name, "`\(name)` must be a string.")
            case ("payload", _): throw .invalid(name, "`\(name)` must be an object.")
            default: throw .invalid(name, "`\(name)` is not a member of an action; leave it out.")
            }
        }
        guard let action else { throw .invalid("\(place).action", "\(place) names no `action`.") }
        guard (type == nil) != (store == nil) else {
            throw .invalid(
                "\(place).store", "\(place) needs either `type` or `store`, not both and not neither.")
        }
        isStore = store != nil
        target = store ?? type ?? ""
        self.action = action
        self.payload = payload
    }
}
