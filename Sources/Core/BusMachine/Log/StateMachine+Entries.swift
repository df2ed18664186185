import BusJSON
import BusProtocol

/// Commits and notes as lines of the log, for `replay` to read.
extension StateMachine {
    /// Writes the commit being made, without its revision, while its plan and its stores are still there.
    package func appendEntry(
        to line: ByteWriter, by principal: Principal, actions: Bool, key: KeyedRequest?,
        _ details: CommitDetails?
    ) {
        appendTime(to: line)
        line.append(",\"by\":")
        principal.by.withUnsafeBytes { line.append($0) }
        line.append(",\"actions\":[")
        if keepsLess { return appendKept(to: line, actions: actions, key: key, details) }
        if actions { appendActions(to: line) }
        line.append(UInt8(ascii: "]"))
        if let key { append(key, to: line) }
        if let details { append(details, to: line) }
        appendTraceparent(to: line)
    }

    /// The same of what the log keeps.
    private func appendKept(
        to line: ByteWriter, actions: Bool, key: KeyedRequest?, _ details: CommitDetails?
    ) {
        let (kept, indices, isAll) = keptActions()
        if actions { append(kept, indices: indices, to: line) }
        line.append(UInt8(ascii: "]"))
        if let key {
            append(key, to: line)
            if actions && !isAll || details?.batch != nil { appendReach(details?.batch, to: line) }
        }
        if let details { append(self.kept(details), after: actions ? kept.count : 0, to: line) }
        appendTraceparent(to: line)
    }

    /// `,"traceparent":"…"` of the commit being made, if it has one.
    @inline(__always)
    package func appendTraceparent(to line: ByteWriter) {
        if let traceparent = plan.traceparent { line.append(",\"traceparent\":", quoted: traceparent) }
    }

    /// The plan's actions, each an object, with commas between them.
    package func appendActions(to line: ByteWriter) {
        append(plan.actions.elements, to: line)
    }

    /// - Parameter indices: Their indices in their batch; nil where they are all of it.
    private func append(
        _ actions: some Sequence<DispatchPlan.Action>, indices: [Int]? = nil, to line: ByteWriter
    ) {
        for (number, action) in actions.enumerated() {
            line.append(number == 0 ? "{" : ",{")
            append(action, to: line)
            if let indices { line.append(",\"index\":", decimal: indices[number]) }
            line.append(UInt8(ascii: "}"))
        }
    }

    /// `"type":…,"action":…,"payload":…`, or with `store`, or with `where` behind the type; and what it returns.
    package func append(
        _ action: DispatchPlan.Action, isReturnedShown: Bool = true, to writer: ByteWriter
    ) {
        let step = plan.steps[action.steps.lowerBound]
        if action.payloadForEveryType != nil {
            writer.append("\"type\":\"*\"")
        } else if step.store >= 0 {
            writer.append("\"store\":", quoted: address(of: Int(step.store)))
        } else {
            writer.append("\"type\":", quoted: step.type.name)
        }
        if let filter = plan.filter(ofStep: action.steps.lowerBound) {
            writer.append(",\"where\":", json: filter.source)
        }
        writer.append(",\"action\":", quoted: step.type.actionName(step.action))
        writer.append(",\"payload\":", jsonObject: action.payloadForEveryType ?? told(step))
        if plan.hasReturned, isReturnedShown { appendReturned(of: action, to: writer) }
    }

    /// An action's payload as it leaves the bus.
    @inline(__always)
    private func told(_ step: DispatchPlan.Step) -> JSONObject {
        let redacted = step.redacted
        return redacted.isEmpty || context.isReplaying ? step.payload : redact(redacted, step)
    }

    /// Digests of the bus, the action, the member and the value: two of the same are equal on one bus only. Whoever can guess a
    /// value can try it.
    private func redact(_ members: [String], _ step: DispatchPlan.Step) -> JSONObject {
        var payload = step.payload
        for name in members {
            guard let value = payload[name]?.string else { continue }
            let text = [epoch, step.type.name, step.type.actionName(step.action), name, value]
            payload[name] = .string(
                "sha256:" + SHA256.hexadecimal(of: Array(text.joined(separator: "\n").utf8)))
        }
        return payload
    }

    /// `,"time":1795219985.072`: seconds since 1970 with three decimals, written once per turn.
    package func appendTime(to line: ByteWriter) {
        if timeText.milliseconds != time {
            timeText.milliseconds = time
            timeText.text.clear()
            timeText.text.append(",\"time\":")
            timeText.text.append(double: Double(time) / 1000)
        }
        line.append(timeText.text.bytes)
    }

    private func append(_ details: CommitDetails, to line: ByteWriter) {
        append(details, after: plan.actions.count, to: line)
    }

    /// `actions`: how many there are in the entry.
    private func append(_ details: CommitDetails, after actions: Int, to line: ByteWriter) {
        if let batch = details.batch {
            append(batch, among: actions, to: line)
        } else if let created = details.created.first {
            append(",\"created\":{", [created], to: line)
            append(ownerOf: created, to: line)
            appendLease(of: created, to: line)
        }
        if let step = details.timer { append(step, to: line) }
        if !details.replaced.isEmpty { append(",\"states\":{", details.replaced.map(\.store), to: line) }
        if details.batch == nil, !details.dropped.isEmpty { append(dropped: details.dropped, to: line) }
        if let reverted = details.reverted {
            line.append(",\"reverted\":{\"store\":", quoted: reverted.store)
            line.append(",\"to\":", decimal: reverted.to)
            line.append(UInt8(ascii: "}"))
        }
        if !details.definitions.isEmpty {
            line.append(",\"definitions\":", jsonArray: details.definitions)
        }
        if !details.undefined.isEmpty {
            line.append(",\"undefined\":", jsonArray: details.undefined.map(JSON.string))
        }
        if let access = details.access {
            line.append(",\"access\":", json: access)
        }
        if !details.policies.isEmpty { append(details.policies, to: line) }
        if let ended = details.ended {
            line.append(",\"ended\":", decimal: ended)
        }
    }

    /// Writes what a batch has created and dropped, and between which of its actions: `steps` has each as a request, with its
    /// state unless that is in `created`, and numbers of actions.
    private func append(_ batch: BatchStores, among count: Int, to line: ByteWriter) {
        let staying = Set(batch.created)
        let created = batch.steps.filter { staying.contains($0.store) }
        if !created.isEmpty {
            line.append(
                ",\"created\":",
                jsonObject: created.reduce(into: [:]) { $0[address(of: Int($1.store))] = .object($1.state) })
        }
        if !batch.removed.isEmpty { append(dropped: batch.removed, to: line) }
        // Nothing comes before or behind drops alone.
        if count == 0, !batch.steps.contains(where: \.isCreation) { return }
        if let ephemeral = created.first(where: \.isEphemeral) {
            append(ownerOf: ephemeral.store, to: line)
        }
        var steps: [JSON] = []
        var actions = 0
        func pass(through place: Int) {
            if place > actions { steps.append(.int(place - actions)) }
            actions = place
        }
        for step in batch.steps {
            pass(through: step.actions)
            var request: JSONObject = [
                "op": step.isCreation ? "create" : "drop", "store": .string(address(of: Int(step.store))),
            ]
            if step.isCreation {
                request["ttl"] = step.lease.map { DurationText.seconds($0) }
                if !staying.contains(step.store) { request["state"] = .object(step.state) }
                if step.isEphemeral, staying.contains(step.store) { request["ephemeral"] = true }
            }
            steps.append(.object(request))
        }
        pass(through: count)
        line.append(",\"steps\":", jsonArray: steps)
    }

    /// Which session a store belongs to.
    private func append(ownerOf store: Int32, to line: ByteWriter) {
        let owner = stores.pointer(store).pointee.owner
        guard owner >= 0 else { return }
        line.append(",\"connection\":", decimal: owner)
        guard let session = sessions[owner] else { return }
        session.isLogged = true
        append(nameOf: session, to: line)
    }

    private func append(_ key: KeyedRequest, to line: ByteWriter) {
        line.append(",\"key\":")
        line.append(quoted: key.id.key)
        line.append(",\"digest\":\"")
        StateTransfer.append(key.digest, to: line)
        line.append(UInt8(ascii: "\""))
    }

    private func append(_ opening: StaticString, _ indices: [Int32], to line: ByteWriter) {
        line.append(opening)
        for (place, index) in indices.enumerated() {
            if place > 0 { line.append(UInt8(ascii: ",")) }
            line.append(quoted: address(of: Int(index)))
            line.append(UInt8(ascii: ":"))
            line.append(jsonObject: stores.pointer(index).pointee.state)
        }
        line.append(UInt8(ascii: "}"))
    }

    private func append(dropped: [Int32], to line: ByteWriter) {
        line.append(",\"dropped\":[")
        for (place, index) in dropped.enumerated() {
            if place > 0 { line.append(UInt8(ascii: ",")) }
            line.append(quoted: address(of: Int(index)))
        }
        line.append(UInt8(ascii: "]"))
    }

    // MARK: Notes

    /// The note that a will has been left or cleared; after a crash the next daemon applies it.
    package func appendWillNote(of session: Session, to line: ByteWriter) {
        session.isLogged = true
        line.append("{\"will\":", jsonArray: session.will.map(\.json))
        line.append(",\"connection\":", decimal: session.id)
        append(nameOf: session, to: line)
        line.append(",\"by\":")
        session.principal.by.withUnsafeBytes { line.append($0) }
        line.append(UInt8(ascii: "}"))
    }

    private func append(nameOf session: Session, to line: ByteWriter) {
        guard let name = session.name else { return }
        line.append(",\"session\":", quoted: name)
        line.append(",\"linger\":", decimal: session.linger)
    }

    /// The note that a session has ended without a commit.
    package static func appendEndNote(of session: SessionID, to line: ByteWriter) {
        line.append("{\"ended\":", decimal: session)
        line.append(UInt8(ascii: "}"))
    }
}
