import BusJSON

/// Subscriptions: granted, paused, continued, and their events.
extension ClientSession {
    /// The bus has answered a `subscribe`.
    mutating func subscribed(_ number: Int, _ outcome: ReplyOutcome, isWanted: Bool) {
        guard var record = subscriptions[number] else {
            // It was cancelled meanwhile.
            if case .success(let reply) = outcome.object, let sub = reply["sub"]?.int { unsubscribe(sub) }
            return
        }
        switch outcome.object {
        case .failure(let error):
            subscriptions[number] = nil
            if record.isEstablished { effects.append(.event(record.request, .ended(error), size: 0)) }
        case .success(let reply):
            guard let sub = reply["sub"]?.int, let revision = reply["revision"]?.int else {
                return violated(BusError(.unexpectedReply, "A subscription was granted without a number."))
            }
            guard isWanted, !record.isPaused else {
                if !isWanted { subscriptions[number] = nil }
                return unsubscribe(sub)
            }
            record.sub = sub
            record.isEstablished = true
            record.settledBefore = settledRevision
            record.skipRevision = (record.position?.revision ?? 0)
            record.actionsToSkip = record.actionsAtPosition
            if record.position == nil, record.request.isOfActions || !record.request.wantsFirstStates {
                record.position = ResumePoint(revision: revision, epoch: epoch)
            }
            subscriptions[number] = record
            numbers[sub] = number
        }
    }

    mutating func resubscribe(_ number: Int) {
        guard let record = subscriptions[number] else { return }
        subscriptions[number]?.isResuming = record.position != nil
        if phase == .restoring {
            restoreOne(record.wire(), .resubscribe(number))
        } else {
            requests.own.append(Submission(.request(record.wire()), role: .resubscribe(number)))
        }
    }

    private mutating func unsubscribe(_ sub: Int) {
        requests.own.append(Submission(.request(BusRequest("unsubscribe", ["sub": .int(sub)])), role: .own))
    }

    /// Ends a subscription whose events are no longer wanted.
    package mutating func cancelSubscription(_ number: Int) {
        guard let record = subscriptions.removeValue(forKey: number) else { return }
        endOnWire(record)
    }

    private mutating func endOnWire(_ record: SubscriptionRecord) {
        guard let sub = record.sub else { return }
        numbers[sub] = nil
        if phase == .open || phase == .restoring { unsubscribe(sub) }
    }

    /// Its receiver has no room: the subscription is ended on the bus until it continues.
    package mutating func pause(_ number: Int) {
        guard let record = subscriptions[number], !record.isPaused else { return }
        settlePosition(of: number)
        endOnWire(record)
        subscriptions[number]?.sub = nil
        subscriptions[number]?.isPaused = true
        subscriptions[number]?.assembler.clear()
        effects.append(.notice(.paused(subscription: number)))
    }

    /// Its receiver has room again: it continues at its position.
    package mutating func goOn(_ number: Int) {
        guard let record = subscriptions[number], record.isPaused else { return }
        subscriptions[number]?.isPaused = false
        if phase == .open || phase == .restoring { resubscribe(number) }
        effects.append(.notice(.continued(subscription: number)))
    }

    /// A subscription of actions has reached the last reply, because all events up to a reply come before it, if the
    /// reply came after the subscription was granted: else what it missed before may still follow. One of changes stays
    /// where it is: its next `from` must be the revision of its last event.
    mutating func settlePosition(of number: Int) {
        guard let record = subscriptions[number], record.request.isOfActions, record.sub != nil,
            let position = record.position, settledRevision > record.settledBefore,
            settledRevision >= position.revision
        else { return }
        subscriptions[number]?.position = ResumePoint(revision: settledRevision, epoch: epoch)
        subscriptions[number]?.actionsAtPosition = 0
    }

    // MARK: - Events

    mutating func take(_ event: JSONObject, named name: String, size: Int) {
        if name == "goodbye" {
            goodbye = BusMessage.goodbye(event)
            return
        }
        guard let sub = event["sub"]?.int, let number = numbers[sub] else { return }
        switch name {
        case "change": takeChange(event, number, size)
        case "bookmark":
            guard let revision = event["revision"]?.int else { return }
            subscriptions[number]?.actionsAtPosition = 0
            moved(number, to: revision, .bookmark(revision: revision), size)
        case "action": takeAction(event, number, size)
        case "gap":
            let revision = event["revision"]?.int ?? seenRevision
            subscriptions[number]?.actionsToSkip = 0
            subscriptions[number]?.actionsAtPosition = 0
            moved(number, to: revision, .gap(revision: revision), size)
        default: break
        }
    }

    private mutating func takeChange(_ part: JSONObject, _ number: Int, _ size: Int) {
        do throws(BusError) {
            guard let (event, size) = try subscriptions[number]?.assembler.add(part, size: size) else {
                return
            }
            guard let record = subscriptions[number], let from = event["from"]?.int,
                let revision = event["revision"]?.int
            else { throw BusError(.unexpectedReply, "A change came without its revisions.") }
            let isReset = event["reset"]?.bool ?? false
            guard isReset || from == record.position?.revision else {
                throw BusError(.gap, "Changes before revision \(from) are missing.")
            }
            subscriptions[number]?.notePresence(in: event, isReset: isReset)
            if isReset, record.isResuming { effects.append(.notice(.reset(subscription: number))) }
            let isEmpty =
                !isReset && event["states"] == nil && event["dropped"] == nil
                && event["changes"]?.object?.isEmpty ?? true
            let whole = ChangeEvent(object: event, from: from, revision: revision)
            moved(number, to: revision, isEmpty ? .bookmark(revision: revision) : .change(whole), size)
        } catch {
            violated(error)
        }
    }

    private mutating func takeAction(_ event: JSONObject, _ number: Int, _ size: Int) {
        guard let revision = event["revision"]?.int, let place = subscriptions.index(forKey: number),
            subscriptions.values[place].isNew(actionAt: revision, isOneOfSeveral: event["index"] != nil)
        else { return }
        moved(number, to: revision, .action(ActionEvent(object: event, revision: revision)), size)
    }

    private mutating func moved(_ number: Int, to revision: Int, _ event: SubscriptionEvent, _ size: Int) {
        guard let place = subscriptions.index(forKey: number) else { return }
        // In place: taking a record out and putting it back costs as much as reading a short line.
        let request = subscriptions.values[place].moved(to: ResumePoint(revision: revision, epoch: epoch))
        seenRevision = max(seenRevision, revision)
        effects.append(.event(request, event, size: size))
    }
}
