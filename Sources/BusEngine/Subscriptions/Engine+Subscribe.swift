import BusJSON
import BusProtocol
import BusState

/// Subscriptions begin and end.
extension Engine {
    func subscribe(_ connection: Connection) throws(RequestError) {
        guard connection.subscriptions.count < limits.subscriptions else {
            throw RequestError(
                .limit,
                "A connection has at most \(limits.subscriptions) subscriptions; use a pattern, or unsubscribe."
            )
        }
        let pattern = try requestedPattern(required: true)!
        try requireTypes(of: pattern)
        let pointers = try requestedPointers()
        let format = try requestedFormat()
        let initial = try request.flag(.initial, default: true)
        let cause = try request.flag(.cause, default: false)
        let actions = try request.flag(.actions, default: false)
        let since = try request.integer(.since)
        let epoch = try request.string(.epoch)
        guard (since == nil) == (epoch == nil) else {
            throw .invalid(
                since == nil ? "since" : "epoch", "`since` and `epoch` go together; give both or neither.")
        }
        guard !isOverMemory else { throw overMemory }
        let key = Shape.Key(
            pattern: pattern, pointers: pointers, format: format, cause: cause, actions: actions)
        if actions { try permitActions(connection) }
        if shapes[key] == nil { try permitGlob(pattern) }
        let shape = shape(key, pointers)
        _ = search(for: shape) { !self.isSliceUsedUp }
        if shape.subscribers.isEmpty, isOverMemory {
            forget(shape)
            throw overMemory
        }
        let subscription = Subscription(
            number: connection.nextSubscription, connection: connection, shape: shape, from: revision)
        connection.nextSubscription += 1
        endCohort(with: connection)
        endCohort(of: shape)
        connection.subscriptions.append(subscription)
        shape.add(subscription)
        subscriptionCount += 1
        work += Work.subscription + Work.pointer * (pointers?.count ?? 0)
        answer(connection) { writer in
            writer.append(",\"sub\":")
            writer.append(decimal: subscription.number)
            self.appendRevision(writer)
            writer.append(",\"epoch\":")
            writer.append(quoted: self.configuration.epoch)
        }
        if actions {
            beginActions(subscription, since: since, epoch: epoch)
        } else if let since, let epoch, epoch == configuration.epoch, since <= revision,
            dropLog.reaches(back: since)
        {
            subscription.from = since
            beginLagging(
                subscription,
                CatchUp(
                    reset: false, evenIfEmpty: true, dropsAfter: since, floor: floor(of: since, pattern),
                    ceiling: sequence))
        } else if initial || since != nil {
            beginLagging(
                subscription,
                CatchUp(reset: true, evenIfEmpty: true, dropsAfter: revision, floor: 0, ceiling: sequence))
        }
        waitForStores(of: shape, connection, subscription)
        // The first event follows directly, before what other subscriptions of the connection may miss.
        if connection.searches.isEmpty, subscription.catchUp != nil, !connection.isClosing {
            tellPart(to: subscription)
        }
        if connection.searches.isEmpty { catchUp(connection) }
    }

    /// A group that has not found all its stores can't tell of them: its subscribers lag behind until it has.
    private func waitForStores(of shape: Shape, _ connection: Connection, _ subscription: Subscription) {
        if search(for: shape, while: { !self.isSliceUsedUp }) { return }
        connection.searches.append(shape)
        connection.isBlocked = true
        connection.isPaused = true
        guard !shape.key.actions, subscription.catchUp == nil else { return }
        beginLagging(
            subscription,
            CatchUp(
                reset: false, evenIfEmpty: false, dropsAfter: revision, floor: sequence, ceiling: sequence))
    }

    /// Action events can't be merged, so each subscription to them costs every dispatch.
    private func permitActions(_ connection: Connection) throws(RequestError) {
        let count = connection.subscriptions.count { $0.shape.key.actions }
        guard count < Limits.actionSubscriptions else {
            throw RequestError(
                .limit,
                "A connection has at most \(Limits.actionSubscriptions) subscriptions to actions; use a pattern, or unsubscribe."
            )
        }
    }

    private func permitGlob(_ pattern: AddressPattern) throws(RequestError) {
        guard !pattern.name.isAny, pattern.literalAddress == nil else { return }
        guard globShapes.countAlike(pattern) < Limits.alikePatterns else {
            throw RequestError(
                .limit,
                "The bus has \(Limits.alikePatterns) other patterns that begin like this one; begin yours with more of the name."
            )
        }
    }

    private var overMemory: RequestError {
        RequestError(.limit, "The bus holds \(limits.memory) bytes, its memory limit; try again later.")
    }

    /// Whoever asks for past actions that nobody can tell any more hears of the gap.
    private func beginActions(_ subscription: Subscription, since: Int?, epoch: String?) {
        guard let since, epoch != configuration.epoch || since != revision else { return }
        guard isLogged, epoch == configuration.epoch, since < revision else {
            return tellGap(subscription, at: revision)
        }
        beginPast(subscription, after: since)
    }

    /// The point in the order of changes behind which all changes after a revision lie.
    private func floor(of revision: Int, _ pattern: AddressPattern) -> Int {
        var floor = sequence
        for entry in types where pattern.type.matches(entry.name) {
            var index = entry.newest
            while index >= 0, stores.pointer(index).pointee.revision > revision {
                floor = min(floor, stores.pointer(index).pointee.sequence - 1)
                index = stores.pointer(index).pointee.older
            }
        }
        return floor
    }

    func unsubscribe(_ connection: Connection) throws(RequestError) {
        guard let number = try request.integer(.sub, least: 1) else {
            throw .invalid("sub", "Say in `sub` which subscription to end.")
        }
        guard let index = connection.subscriptions.firstIndex(where: { $0.number == number }) else {
            throw .invalid("sub", "This connection has no subscription \(number).")
        }
        detach(connection.subscriptions.remove(at: index))
        answer(connection) { _ in }
    }

    /// Takes a subscription out of its shape, and the shape away with its last one.
    func detach(_ subscription: Subscription) {
        let shape = subscription.shape
        endCohort(of: shape)
        endPast(subscription)
        if subscription.catchUp != nil { endLagging(subscription) }
        shape.remove(subscription)
        subscriptionCount -= 1
        if shape.subscribers.isEmpty { forget(shape) }
    }

    // MARK: Shapes

    func shape(_ key: Shape.Key, _ pointers: [[String]]?) -> Shape {
        if let shape = shapes[key] { return shape }
        shapeCount += 1
        let shape = Shape(
            key: key, selection: key.actions ? nil : pointers.map { Selection($0) }, number: shapeCount,
            revision: revision, now: now)
        shapes[key] = shape
        shapeBytes += key.memory
        if key.actions { actionShapeCount += 1 }
        if shape.wantsWholeTypes {
            for entry in types where key.pattern.type.matches(entry.name) { entry.shapes.append(shape) }
        } else {
            findMembers(of: shape)
        }
        if !key.actions {
            quietShapes.add(shape)
        }
        return shape
    }

    /// A dictionary has no order that could be relied on; what clients are told has.
    var shapesInOrder: [Shape] { shapes.values.sorted { $0.number < $1.number } }

    private func findMembers(of shape: Shape) {
        let pattern = shape.key.pattern
        if shape.key.actions { partialActionShapes.append(shape) }
        if let address = pattern.literalAddress {
            exactShapes[address, default: []].append(shape)
        } else {
            globShapes.add(shape)
        }
        beginSearch(for: shape)
    }

    private func forget(_ shape: Shape) {
        shapes[shape.key] = nil
        shapeBytes -= shape.key.memory
        quietShapes.remove(shape)
        if shape.key.actions { actionShapeCount -= 1 }
        if shape.wantsWholeTypes {
            for entry in types { entry.shapes.removeAll { $0 === shape } }
            return
        }
        if shape.key.actions {
            partialActionShapes.removeAll { $0 === shape }
            searchingActionShapes.removeAll { $0 === shape }
        }
        if let address = shape.key.pattern.literalAddress {
            exactShapes[address]?.removeAll { $0 === shape }
            if exactShapes[address]?.isEmpty == true { exactShapes[address] = nil }
        } else {
            globShapes.remove(shape)
        }
        desert(shape)
    }

    // MARK: What a request speaks of

    /// The stores named by `store`, `type` or `match`.
    func requestedPattern(required: Bool) throws(RequestError) -> AddressPattern? {
        let match = try request.string(.match)
        let given = [request.present.contains(.store), request.present.contains(.type), match != nil]
        guard given.filter({ $0 }).count <= 1 else {
            throw .invalid("match", "Give one of `store`, `type` and `match`, not several.")
        }
        if request.present.contains(.store) {
            _ = try requireAddress(request.store)
            return AddressPattern(request.store)
        }
        if request.present.contains(.type) {
            return AddressPattern(type: try requireType(request.type).name)
        }
        if let match {
            var text = match
            guard let pattern = text.withUTF8({ AddressPattern(UnsafeRawBufferPointer($0)) }) else {
                throw .invalid(
                    "match",
                    "\"\(match.prefix(200))\" is no pattern of addresses; it has exactly one slash, as counter/* has."
                )
            }
            return pattern
        }
        if required { throw .invalid("store", "Name what is meant with one of `store`, `type` and `match`.") }
        return nil
    }

    /// A pattern's type must exist when it is named outright.
    func requireTypes(of pattern: AddressPattern) throws(RequestError) {
        guard pattern.type.isLiteral else { return }
        let outcome = pattern.type.pattern.withUnsafeBytes { name in
            Result { () throws(RequestError) in _ = try self.requireType(name) }
        }
        try outcome.get()
    }

    func requestedPointers() throws(RequestError) -> [[String]]? {
        guard let list = try request.array(.select) else { return nil }
        guard !list.isEmpty else {
            throw .invalid("select", "`select` is empty; leave it out to get whole states.")
        }
        guard list.count <= Limits.pointers else {
            throw RequestError(
                .limit, "`select` takes at most \(Limits.pointers) pointers; select their parent.")
        }
        var pointers: [[String]] = []
        for element in list {
            guard case .string(let text) = element, let pointer = try? JSONPointer(text) else {
                throw .invalid(
                    "select",
                    "`select` holds JSON Pointers such as \"/target\"; \(element.encoded.prefix(80)) is none."
                )
            }
            if !pointers.contains(where: {
                $0.count == pointer.tokens.count && zip($0, pointer.tokens).allSatisfy(UTF8Order.equal)
            }) {
                pointers.append(pointer.tokens)
            }
        }
        return Selection(pointers).pointers
    }

    private func requestedFormat() throws(RequestError) -> Shape.Format {
        guard let name = try request.string(.format) else { return .merge }
        guard let format = Shape.Format(rawValue: name) else {
            throw .invalid("format", "`format` is merge, patch or state.")
        }
        return format
    }
}

extension AddressPattern {
    /// The one address it names; nil when it has wildcards.
    var literalAddress: String? {
        guard type.isLiteral, name.isLiteral else { return nil }
        return String(decoding: type.pattern + [UInt8(ascii: "/")] + name.pattern, as: UTF8.self)
    }
}
