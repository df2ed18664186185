import BusJSON
import BusMachine
import BusProtocol
import BusState

/// `subscribe` and `unsubscribe`, and how requests name stores.
extension Engine {
    func subscribe(_ connection: Connection) throws(RequestError) {
        try admission.requireSubscription(connection)
        let grants = connection.access.grants
        let actions = try request.flag(.actions, default: false)
        try require(
            actions ? .history : .read, ofStoreIn: grants, actions ? "read the history of" : "read")
        let pattern = try requestedPattern(required: true)!
        try requireKnown(pattern, grants)
        if actions, let grants, !grants.mayKnowHistory(of: pattern) {
            throw Self.forbidden("subscribe to actions of", pattern.text)
        }
        try machine.requireTypes(of: pattern)
        let pointers = try requestedSelection()?.pointers
        let format = try requestedFormat()
        let initial = try request.flag(.initial, default: true)
        let cause = try request.flag(.cause, default: false)
        if cause, let grants, !grants.knowsEverything {
            throw RequestError(
                .forbidden,
                "The access rules do not show you all that happens, and a cause names every action of a commit; subscribe without `cause`."
            )
        }
        let since = try request.integer(.since)
        let epoch = try request.string(.epoch)
        guard (since == nil) == (epoch == nil) else {
            throw .invalid(
                since == nil ? "since" : "epoch", "`since` and `epoch` go together; give both or neither.")
        }
        let wanted = SubscriptionFilter(
            pattern: pattern, pointers: pointers, format: format, cause: cause, actions: actions)
        let filter = granted(wanted, to: grants)
        try admission.require(filter, connection)
        let group = hub.group(filter, for: connection.user)
        if group.subscribers.isEmpty, memory.isOver {
            hub.removeIfEmpty(group)
            throw admission.overMemory
        }
        let subscription = hub.add(to: group, wanted: wanted, for: connection)
        clock.work += Work.subscription
        answer(connection) { writer in
            writer.append(",\"sub\":", decimal: subscription.number)
            writer.append(revision: machine.revision)
            writer.append(",\"epoch\":", quoted: machine.epoch)
        }
        hub.begin(subscription, start(of: filter, initial: initial, since: since, epoch: epoch))
    }

    private func start(
        of filter: SubscriptionFilter, initial: Bool, since: Int?, epoch: String?
    ) -> SubscriptionHub.Start {
        let isOurs = epoch == machine.epoch
        if filter.actions {
            guard let since, !isOurs || since != machine.revision else { return .live }
            // A subscriber that asks for past actions that are no longer known gets a gap event.
            return log.isOn && isOurs && since < machine.revision ? .past(after: since) : .gap
        }
        // Under earlier rules its client saw other stores.
        if let since, isOurs, since <= machine.revision, since >= machine.accessSince,
            machine.dropLog.reaches(back: since)
        {
            return .resume(after: since)
        }
        return initial || since != nil ? .reset : .live
    }

    func unsubscribe(_ connection: Connection) throws(RequestError) {
        guard let number = try request.integer(.sub, least: 1) else {
            throw .invalid("sub", "Say in `sub` which subscription to end.")
        }
        guard let subscription = connection.delivery.subscriptions.first(where: { $0.number == number })
        else {
            throw .invalid("sub", "This connection has no subscription \(number).")
        }
        connection.delivery.remove { $0 === subscription }
        hub.detach(subscription)
        answer(connection) { _ in }
    }

    // MARK: What a request names

    /// The stores named by `store`, `type` or `match`. For the past, the types that existed then are not known here.
    func requestedPattern(required: Bool, ofPast: Bool = false) throws(RequestError) -> AddressPattern? {
        let match = try request.string(.match)
        let given = [request.present.contains(.store), request.present.contains(.type), match != nil]
        guard given.filter({ $0 }).count <= 1 else {
            throw .invalid("match", "Give one of `store`, `type` and `match`, not several.")
        }
        if request.present.contains(.store) {
            _ = try machine.requireAddress(request.store)
            return AddressPattern(request.store)
        }
        if request.present.contains(.type) {
            if ofPast, Names.isTypeName(request.type) {
                return AddressPattern(type: String(decoding: request.type, as: UTF8.self))
            }
            return AddressPattern(type: try machine.requireType(request.type).name)
        }
        if let match {
            var text = match
            guard let pattern = text.withUTF8({ AddressPattern(UnsafeRawBufferPointer($0)) }) else {
                throw .invalid(
                    "match",
                    "`\(match.shortened(to: 200))` is not a pattern of addresses; it has exactly one slash, as counter/* has."
                )
            }
            return pattern
        }
        if required { throw .invalid("store", "Name what is meant with one of `store`, `type` and `match`.") }
        return nil
    }

    /// The parts of states that a request wants; nil: all of them. What it costs is counted before anything is done.
    func requestedSelection() throws(RequestError) -> Selection? {
        guard let list = try request.array(.select) else { return nil }
        guard !list.isEmpty else {
            throw .invalid("select", "`select` is empty; leave it out to get whole states.")
        }
        guard list.count <= DaemonLimits.pointers else {
            throw RequestError(
                .limit, "`select` takes at most \(DaemonLimits.pointers) pointers; select their parent.")
        }
        var pointers: [[String]] = []
        for element in list {
            guard case .string(let text) = element else { throw Self.noPointer(element) }
            guard text.utf8.count <= DaemonLimits.pointerBytes else { throw pointerTooLong }
            clock.work += Work.pointer + Work.pointerByte * text.utf8.count
            guard let pointer = try? JSONPointer(text) else { throw Self.noPointer(element) }
            guard pointer.tokens.count <= limits.daemon.depth else { throw pointerTooLong }
            pointers.append(pointer.tokens)
        }
        return Selection(pointers)
    }

    private static func noPointer(_ element: JSON) -> RequestError {
        let shown =
            if case .string(let text) = element { "`\(text.shortened(to: 80))`" } else { element.phrase }
        return .invalid(
            "select", "`select` holds JSON Pointers such as \"/target\"; \(shown) is not one.")
    }

    private var pointerTooLong: RequestError {
        RequestError(
            .tooLarge,
            "A pointer of `select` has at most \(DaemonLimits.pointerBytes) bytes and \(limits.daemon.depth) segments; select a parent of what you want."
        ).with("member", "select")
    }

    private func requestedFormat() throws(RequestError) -> SubscriptionFilter.Format {
        guard let name = try request.string(.format) else { return .merge }
        guard let format = SubscriptionFilter.Format(rawValue: name) else {
            throw .invalid("format", "`format` is merge, patch or state.")
        }
        return format
    }
}
