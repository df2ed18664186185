import BusJSON

/// Connections are opened, lost, and restored.
extension ClientSession {
    /// An attempt begins, which ends with `connected` or `connectFailed`.
    package mutating func connecting() { attempts.next = .max }

    /// A connection is open.
    package mutating func connected(at now: Int) {
        guard phase == .disconnected else { return }
        phase = .greeting
        goodbye = nil
        disconnectReason = nil
        written = 0
        lastHeard = now
        probedAt = nil
        attempts.helloDeadline = now + options.connectTimeout.nanoseconds / attempts.addresses
        requests.own.append(Submission(.request(hello(linger: linger)), role: .hello))
    }

    /// Without keys a creation that is sent again can't be told from another client's, so nothing may be left from before.
    var linger: Duration? { options.usesKeys ? options.linger : nil }

    /// A hello; with `linger` it names the session that the bus is to keep for so long.
    func hello(linger: Duration?) -> BusRequest {
        let members: KeyValuePairs<String, JSON?> = [
            "protocol": 1, "client": options.client.map(JSON.string), "token": token.map(JSON.string),
            "session": linger.map { _ in .string(sessionName) },
            "linger": linger.map { .double(Double($0.nanoseconds / 1_000_000) / 1000) },
        ]
        return BusRequest("hello", members)
    }

    /// An attempt to connect failed.
    package mutating func connectFailed(_ error: BusError, at now: Int) {
        guard phase == .disconnected else { return }
        retry(after: error, at: now)
    }

    /// The connection has ended, after this many bytes of it had been sent.
    package mutating func lost(_ error: BusError, sent: Int, at now: Int) {
        guard phase != .ended, phase != .disconnected else { return }
        let reason = goodbye ?? error
        let wasOpen = phase == .open || phase == .restoring
        phase = .disconnected
        _ = requests.own.removeAll()
        needsMarker = false
        restorationsLeft = 0
        ephemeralStores.removeAll { $0.triesLeft < 0 }
        for index in ephemeralStores.indices { ephemeralStores[index].due = nil }
        takeBackUnanswered(sent: sent, reason)
        rest()
        if wasOpen, hasBeenOpen { effects.append(.notice(.lost(reason))) }
        if reason.details["reason"] == "protocol" { return finish(reason) }
        if !wasOpen, attempts.untriedAddresses > 0 {
            // This attempt continues at the next address.
            attempts.untriedAddresses -= 1
            attempts.lastError = reason
            attempts.next = now
            return
        }
        retry(after: reason, at: now)
    }

    private mutating func retry(after error: BusError, at now: Int) {
        attempts.lastError = error
        attempts.untriedAddresses = attempts.addresses - 1
        if !hasBeenOpen, attempts.patienceEnds.map({ now >= $0 }) ?? true { return finish(error) }
        if attempts.count > 0 { effects.append(.notice(.attemptFailed(attempt: attempts.count, error))) }
        attempts.count += 1
        attempts.next = now + options.backOff.wait(before: attempts.count, random: &random)
        if hasBeenOpen { effects.append(.status(.reconnecting(attempt: attempts.count, error: error))) }
        if isClosing, isIdle { finish(nil) }
    }

    /// Makes the next attempt due, where one is waited for.
    mutating func reconnect() {
        if phase == .disconnected, attempts.next != .max { attempts.next = 0 }
    }

    /// Sorts the unanswered requests: those that may be sent again are queued for that, before those already queued.
    private mutating func takeBackUnanswered(sent bytes: Int, _ reason: BusError) {
        let later = requests.resending.removeAll()
        for var sent in requests.unanswered.removeAll() where !sent.submission.role.isOwn {
            sent.isRepeated = sent.isRepeated || sent.end <= bytes
            if case .drop(let addresses, let types) = sent.submission.role, sent.isRepeated {
                // The stores may be gone already; if the drop is answered as a duplicate, the restored ones would stay. The bus
                // may also refuse it.
                doubtStores(at: addresses, of: types, isConditional: sent.submission.body.isConditional)
            }
            if sent.submission.isSettled {
                if case .subscribe(let request) = sent.submission.role { subscriptions[request.number] = nil }
                effects.append(.complete(sent.submission, .failure(reason)))
            } else if sent.isRepeated, sent.submission.repetition == .never {
                let error = Self.outcomeUnknown(reason)
                noticeFailure(of: sent.submission, error)
                effects.append(.complete(sent.submission, .failure(error)))
            } else {
                sent.id = 0
                requests.resending.append(sent)
            }
        }
        for sent in later { requests.resending.append(sent) }
    }

    /// Clears the numbers of all subscriptions; each remembers its position.
    private mutating func rest() {
        numbers = [:]
        for number in subscriptions.keys {
            settlePosition(of: number)
            subscriptions[number]?.sub = nil
            subscriptions[number]?.assembler.clear()
        }
    }

    // MARK: - Restoring

    mutating func greeted(_ outcome: ReplyOutcome, at now: Int) {
        let reply: JSONObject
        switch outcome.object {
        case .success(let object): reply = object
        case .failure(let error):
            // A daemon that is at a limit or unavailable may accept us later; any other refusal is final.
            if error.code == .limit || error.code == .unavailable {
                disconnectReason = error
            } else {
                finish(error)
            }
            return
        }
        guard let greeting = BusGreeting(reply) else {
            return finish(BusError(.unexpectedReply, "The other end did not answer hello as a bus does."))
        }
        if greeting.epoch != epoch {
            if !epoch.isEmpty { effects.append(.notice(.epochChanged(from: epoch, to: greeting.epoch))) }
            epoch = greeting.epoch
            seenRevision = 0
            settledRevision = 0
            for number in subscriptions.keys where subscriptions[number]?.presence == .there {
                subscriptions[number]?.presence = .lost
            }
        }
        self.greeting = greeting
        lineLimit = greeting.limits["line"]?.int ?? Int.max
        seenRevision = max(seenRevision, greeting.revision)
        phase = .restoring
        effects.append(.greeted(greeting))
        restore(isResumed: reply["resumed"] == true, at: now)
    }

    /// `isResumed`: the bus has kept will and ephemeral stores, as far as the connection before has restored them.
    private mutating func restore(isResumed: Bool, at now: Int) {
        restorationsLeft = 0
        if !isResumed {
            will?.isKept = false
            forgetDoubtful()
            takeOutCreations()
            for place in 0..<requests.resending.count { requests.resending.update(at: place) { $0.tear() } }
        }
        if let will, !will.isKept { restoreOne(Self.willRequest(will.actions), .restoreWill) }
        for index in ephemeralStores.indices {
            if !isResumed { (ephemeralStores[index].isKept, ephemeralStores[index].attempt) = (false, nil) }
            if !ephemeralStores[index].isKept { restoreStore(index) }
        }
        for number in subscriptions.keys.sorted() { createAgain(number) }
        var resumed = 0
        for number in subscriptions.keys.sorted() {
            guard let record = subscriptions[number], record.isEstablished, !record.isPaused else { continue }
            resubscribe(number)
            resumed += 1
        }
        if resumed > 0 { effects.append(.notice(.resumed(subscriptions: resumed))) }
        openIfRestored(at: now)
    }

    /// The bus may have dropped these stores, and stores of these types: nobody knows which, because an expression chose them.
    mutating func doubtStores(at addresses: [String] = [], of types: [String], isConditional: Bool = true) {
        for (index, store) in ephemeralStores.enumerated()
        where addresses.contains(store.address) || types.contains(store.type) {
            ephemeralStores[index].isInDoubt = true
            if !isConditional, addresses.contains(store.address) { ephemeralStores[index].isDropped = true }
        }
    }

    /// Asks the bus which of the stores in doubt are still there.
    mutating func lookAtDoubtful() {
        for store in ephemeralStores where store.isInDoubt {
            let request = BusRequest("stores", ["match": .string(store.address)])
            requests.own.append(Submission(.request(request), role: .look(store.address)))
        }
    }

    /// Stores in doubt are not created again: they ended with the old session, so it can't be known any more which of them this
    /// client had dropped before. One that it has dropped without conditions nobody misses, unless the drop is refused.
    private mutating func forgetDoubtful() {
        for store in ephemeralStores where store.isInDoubt && !store.isDropped {
            let error = BusError(
                .outcomeUnknown,
                "The connection was lost before it was known whether this was dropped; create it again if it is needed."
            )
            effects.append(.notice(.ephemeralStoreLost(address: store.address, error)))
        }
        requests.droppedStores.formUnion(ephemeralStores.lazy.filter(\.isDropped).map(\.address))
        requests.forgetSettledDrops()
        ephemeralStores.removeAll { $0.isInDoubt }
    }

    /// Takes unanswered creations of ephemeral stores out of the requests to send again. The old session has taken such a store
    /// with it, so the client creates a new one before it sends anything else. If a drop of the store was sent before the
    /// creation, the new store comes right after that drop. If a drop was sent after it, the creation is repeated unchanged: the
    /// drop may be committed already, and a new store would survive it.
    private mutating func takeOutCreations() {
        let repeated = requests.resending.removeAll()
        // Where the last drop of a store, or of stores of a type, stands.
        var drops: [String: Int] = [:]
        for (place, sent) in repeated.enumerated() where sent.isRepeated {
            guard case .drop(let addresses, let types) = sent.submission.role else { continue }
            for name in addresses + types { drops[name] = place }
        }
        for (place, sent) in repeated.enumerated() {
            let submission = sent.submission
            guard case .createEphemeral(let address, let state, let timeToLive) = submission.role,
                sent.isRepeated, !submission.isSettled
            else {
                requests.resending.append(sent)
                continue
            }
            let type = String(address.prefix { $0 != "/" })
            let drop = max(drops[address] ?? -1, drops[type] ?? -1)
            if drop < 0 {
                ephemeralStores.append(
                    EphemeralStore(
                        address: address, state: state, timeToLive: timeToLive, pending: submission))
            } else if drop < place, submission.repetition == .keyed, !submission.body.bringsOwnKey {
                requests.resending.append(SentRequest(submission: submission, isAnew: true))
            } else {
                requests.resending.append(sent)
            }
        }
    }

    mutating func restoreOne(
        _ request: BusRequest, _ role: Submission.Role,
        onOutcome: (@Sendable (ReplyOutcome) -> Void)? = nil
    ) {
        requests.own.append(Submission(.request(request), role: role, onOutcome: onOutcome))
        restorationsLeft += 1
    }

    /// Has the bus create the store of a subscription that the present epoch may not know.
    private mutating func createAgain(_ number: Int) {
        guard let record = subscriptions[number], record.presence == .lost,
            let creation = record.request.creation
        else { return }
        let request = BusRequest(
            "create",
            ["store": .string(creation.store), "state": .object(creation.state), "ifMissing": true])
        restoreOne(request, .createAgain(number)) { outcome in
            if case .failure(let error) = outcome { creation.onRefusal(error) }
        }
    }

    /// Has the bus create a store again. Where the connection before may have asked for that in the same session, the key says
    /// whether the store is this one or another client's.
    mutating func restoreStore(_ index: Int) {
        ephemeralStores[index].due = nil
        let store = ephemeralStores[index]
        var request = BusRequest(
            "create",
            [
                "store": .string(store.address), "state": store.state, "ephemeral": true,
                "ttl": store.timeToLive,
            ])
        if linger != nil {
            let attempt = store.attempt ?? (key: requests.takeKey(), after: seenRevision)
            request.set("key", .string(keyPrefix + String(attempt.key)))
            if store.attempt != nil {
                request.set("after", .int(attempt.after))
                request.set("epoch", .string(epoch))
            }
            ephemeralStores[index].attempt = attempt
        }
        restoreOne(request, .restoreStore(index))
    }

    static func willRequest(_ actions: [JSON]) -> BusRequest {
        BusRequest("will", ["actions": .array(actions)])
    }

    /// A request of the restoration is answered.
    mutating func restored(at now: Int) {
        restorationsLeft -= 1
        openIfRestored(at: now)
    }

    mutating func storeRestored(_ index: Int, _ outcome: ReplyOutcome, at now: Int) {
        var store = ephemeralStores[index]
        if case .failure(var error) = outcome {
            if error.code == .exists, store.triesLeft > 0 {
                // The bus has not seen the end of the old connection, with which the old store is dropped.
                store.triesLeft -= 1
                // Nothing was committed under the key so far, so the bus need not know it any longer than from here.
                store.attempt?.after = seenRevision
                store.due = now + 1_000_000 << (EphemeralStore.mostTries - 1 - store.triesLeft)
                ephemeralStores[index] = store
                return
            }
            // The key is forgotten: the connection before may have created it.
            if error.code == .conflict { error = Self.outcomeUnknown(error) }
            if let pending = store.pending {
                giveBack(pending, error)
            } else {
                effects.append(.notice(.ephemeralStoreLost(address: store.address, error)))
            }
            store.triesLeft = -1
        } else {
            if let pending = store.pending { effects.append(.complete(pending, outcome)) }
            store.triesLeft = EphemeralStore.mostTries
            store.isKept = true
        }
        store.pending = nil
        ephemeralStores[index] = store
        restored(at: now)
    }

    /// A store that another client has created meanwhile satisfies a request with `ifMissing`.
    private mutating func giveBack(_ pending: Submission, _ error: BusError) {
        if error.code == .exists, case .request(let request) = pending.body, request["ifMissing"] == true {
            requests.resending.append(SentRequest(submission: pending, isAnew: true))
        } else {
            effects.append(.complete(pending, .failure(error)))
        }
    }

    private mutating func openIfRestored(at now: Int) {
        guard phase == .restoring, restorationsLeft == 0 else { return }
        ephemeralStores.removeAll { $0.triesLeft < 0 }
        phase = .open
        attempts.count = 0
        attempts.untriedAddresses = attempts.addresses - 1
        if hasBeenOpen {
            effects.append(.notice(.reconnected(epoch: epoch, revision: seenRevision)))
            let repeated = requests.resending.elements.count { $0.isRepeated }
            if repeated > 0 { effects.append(.notice(.retried(requests: repeated))) }
        }
        hasBeenOpen = true
        effects.append(.status(.connected))
        lookAtDoubtful()
    }
}
