import BusJSON
import BusLogic
import BusProtocol

/// What belongs to one connection: its hello, its will, its end; and the reload of definitions.
extension Engine {
    func hello(_ connection: Connection) throws(RequestError) {
        let wanted = try request.integer(.protocol) ?? 1
        guard wanted == 1 else {
            throw .invalid("protocol", "This daemon speaks protocol 1.")
        }
        _ = try request.string(.client)
        let token = try request.string(.token)
        if case .tcp(let address) = connection.peer, connection.identity == nil {
            guard let token, let name = configuration.tokenName(token) else {
                throw RequestError(
                    .unauthorized, "This token is not in the bus's token file; ask its operator for one.")
            }
            identify(connection, as: .token(name), by: ["token": .string(name), "address": .string(address)])
        }
        answer(connection) { writer in
            writer.append(",\"protocol\":1,\"server\":\"fluxbusd\",\"version\":")
            writer.append(quoted: self.configuration.version)
            writer.append(",\"epoch\":")
            writer.append(quoted: self.configuration.epoch)
            self.appendRevision(writer)
            writer.append(",\"identity\":")
            connection.by.withUnsafeBytes { writer.append($0) }
            writer.append(",\"limits\":")
            writer.append(jsonObject: self.limits.object)
        }
    }

    func setWill(_ connection: Connection) throws(RequestError) {
        guard let actions = try request.array(.actions) else {
            throw .invalid("actions", "Give the will's `actions`; an empty list clears it.")
        }
        work += Work.read
        guard actions.count <= limits.batch else {
            throw RequestError(.limit, "A will takes at most \(limits.batch) actions; give fewer.")
        }
        var will: [WillAction] = []
        for (index, element) in actions.enumerated() {
            do throws(RequestError) {
                will.append(try willAction(try BatchElement(element, place: "actions[\(index)]")))
            } catch {
                throw error.with("index", .int(index))
            }
        }
        let size = Limits.willFactor * JSON.array(actions).encodedSize
        guard size <= connection.willBytes || memoryInUse + size - connection.willBytes <= limits.memory
        else {
            throw RequestError(
                .limit, "The bus holds \(limits.memory) bytes, its memory limit; leave a smaller will.")
        }
        try requireRoom()
        connection.will = will
        willBytes += (will.isEmpty ? 0 : size) - connection.willBytes
        connection.willBytes = will.isEmpty ? 0 : size
        logWill(of: connection)
        answer(connection) { _ in }
    }

    /// Checks what can be known now: names and payload. The stores are looked up when it is carried out.
    private func willAction(_ element: BatchElement) throws(RequestError) -> WillAction {
        var (target, action) = (element.target, element.action)
        let checked = target.withUTF8 { target in
            action.withUTF8 { action in
                Result { () throws(RequestError) in
                    let (target, action) = (UnsafeRawBufferPointer(target), UnsafeRawBufferPointer(action))
                    if !element.isStore, target.count == 1, target[0] == UInt8(ascii: "*") {
                        self.plan.clear()
                        defer { self.plan.clear() }
                        return try self.planElement(element)
                    }
                    let name = element.isStore ? try self.requireAddress(target).type : target
                    let entry = try self.requireType(name)
                    let index = try self.requireAction(action, of: entry)
                    do throws(PayloadFailure) {
                        _ = try entry.type.accept(element.payload, for: index)
                    } catch {
                        throw RequestError(.invalidPayload, error.message)
                    }
                }
            }
        }
        try checked.get()
        return WillAction(
            store: element.isStore ? element.target : nil, type: element.isStore ? nil : element.target,
            action: element.action, payload: element.payload)
    }

    // MARK: Reload

    func reload(_ connection: Connection) throws(RequestError) {
        guard isOperator(connection) else {
            throw RequestError(.forbidden, "Only root and the daemon's own user may reload definitions.")
        }
        try requireRoom()
        if mustWait(for: Work.reload, connection, currentLine) { return }
        work += Work.reload
        do throws(ReloadFailure) {
            try reload(by: connection.by)
        } catch {
            throw RequestError(.rejected, error.message)
        }
        answer(connection) { self.appendRevision($0) }
    }

    /// Loads the definitions anew, for the daemon itself.
    package func reload() throws(ReloadFailure) {
        try reload(by: Self.daemon)
    }

    private func reload(by: [UInt8]) throws(ReloadFailure) {
        do throws(ReloadFailure) {
            let loaded = try configuration.loadTypes()
            let misfits = misfits(of: loaded)
            guard misfits.isEmpty else {
                let shown = misfits.prefix(20).map(\.reason).joined(separator: "; ")
                throw ReloadFailure(
                    message: "The old definitions stay, because stores do not fit the new ones: \(shown).")
            }
            exchangeDefinitions(loaded, by: by)
        } catch {
            configuration.report(
                EngineNote(
                    kind: .reloadRefused, level: .error, message: "Nothing was reloaded: \(error.message)"))
            throw error
        }
        configuration.report(
            EngineNote(
                kind: .reloaded, level: .notice, message: "Definitions and limits were reloaded.",
                revision: revision))
    }

    /// The daemon begins with a log or another's state, whose definitions may be older than those it was started with. A
    /// type whose stores do not fit the new one keeps the old one, and the operator hears of it.
    package func begin(with loaded: [any StateType]) {
        var loaded = loaded
        for misfit in misfits(of: loaded) {
            guard let kept = typesByName[misfit.type]?.type else { continue }
            loaded.removeAll { $0.name == misfit.type }
            loaded.append(kept)
            configuration.report(
                EngineNote(
                    kind: .definitionKept, level: .error,
                    message: "The definition of \(misfit.type) does not fit its stores, or is gone: the old "
                        + "one stays (\(misfit.reason)).",
                    type: misfit.type))
        }
        let known = liveTypes.map(\.type)
        let isNew = loaded.contains { type in
            known.first { $0.name == type.name }?.definition != type.definition
        }
        if isNew || known.contains(where: { old in !loaded.contains { $0.name == old.name } }) {
            exchangeDefinitions(loaded, by: Self.daemon)
        } else {
            // What has the same definition may still be another in code.
            for type in loaded { typesByName[type.name]?.redefine(type) }
        }
    }

    /// The types whose stores would not fit, and why; a type once for each such store.
    private func misfits(of loaded: [any StateType]) -> [(type: String, reason: String)] {
        let names = Set(loaded.map(\.name))
        var misfits: [(type: String, reason: String)] = []
        for entry in types where !names.contains(entry.name) && entry.count > 0 {
            misfits.append((entry.name, "\(entry.name) is gone but has \(entry.count) stores"))
        }
        for type in loaded {
            guard let entry = typesByName[type.name], entry.type.definition != type.definition else {
                continue
            }
            for index in entry.members where index >= 0 {
                do throws(PayloadFailure) {
                    let state = try type.initialState(replacing: kept(index, of: entry))
                    guard state.encodedSize <= limits.effectiveState else {
                        throw PayloadFailure("the state would be longer than \(limits.effectiveState) bytes")
                    }
                } catch {
                    misfits.append((entry.name, "\(address(of: Int(index))): \(error.message)"))
                }
            }
        }
        return misfits
    }

    /// New definitions, which every store fits, take the place of the old ones.
    private func exchangeDefinitions(_ loaded: [any StateType], by: [UInt8]) {
        let names = Set(loaded.map(\.name))
        var moved: [(store: Int32, state: JSONObject)] = []
        var facts = CommitFacts()
        for type in loaded {
            guard let entry = typesByName[type.name] else {
                facts.definitions.append(type.definition)
                continue
            }
            if entry.type.definition == type.definition { continue }
            facts.definitions.append(type.definition)
            for index in entry.members where index >= 0 {
                // That it fits has been found out.
                if let state = try? type.initialState(replacing: kept(index, of: entry)) {
                    moved.append((index, state))
                }
            }
        }
        for type in loaded {
            if let entry = types.first(where: { $0.name == type.name }) {
                entry.redefine(type)
                typesByName[type.name] = entry
            } else {
                addType(type)
            }
        }
        for entry in liveTypes where !names.contains(entry.name) {
            facts.undefined.append(entry.name)
            typesByName[entry.name] = nil
        }
        lastType = nil
        orderTypes()
        configuration.reloaded()
        publish(moved: moved, by: by, facts)
    }

    /// A store's state without the values its old type computes.
    private func kept(_ index: Int32, of entry: TypeEntry) -> JSONObject {
        entry.withoutComputed(stores.pointer(index).pointee.state)
    }

    /// Publishes states that take the places of old ones.
    func publish(
        moved: [(store: Int32, state: JSONObject)], by: [UInt8], _ facts: CommitFacts
    ) {
        plan.clear()
        beginPublication()
        for (index, state) in moved {
            let record = stores.pointer(index)
            if record.pointee.state == state { continue }
            let size = state.encodedSize
            stateBytes += size - Int(record.pointee.size)
            record.pointee.size = Int32(size)
            record.pointee.state = state
            publishState(of: index)
        }
        finishPublication(by: by, actions: false)
        if isLogged {
            log(by: by, actions: false, created: [], dropped: [], states: moved.map(\.store), facts)
        }
    }
}

extension TypeEntry {
    /// A state without the values that the type computes.
    func withoutComputed(_ state: JSONObject) -> JSONObject {
        var state = state
        for name in type.definition["computed"]?.object?.keys ?? [] { state[name] = nil }
        return state
    }
}

extension BatchElement {
    init(_ action: WillAction) {
        isStore = action.store != nil
        target = action.store ?? action.type ?? ""
        self.action = action.action
        payload = action.payload
    }
}

extension Limits {
    /// The limits as `hello` tells them.
    var object: JSONObject {
        [
            "line": .int(line), "depth": .int(depth), "state": .int(effectiveState), "stores": .int(stores),
            "connections": .int(connections), "subscriptions": .int(subscriptions), "outbox": .int(outbox),
            "batch": .int(batch), "commit": .int(commit), "memory": .int(memory),
        ]
    }
}
