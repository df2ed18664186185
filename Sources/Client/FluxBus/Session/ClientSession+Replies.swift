import BusJSON

/// Incoming lines.
extension ClientSession {
    /// Bytes have come, whole lines or not.
    package mutating func heard(at now: Int) {
        lastHeard = now
        probedAt = nil
    }

    /// Handles a line, given without its end.
    package mutating func receive(_ line: UnsafeRawBufferPointer, at now: Int) {
        guard phase != .disconnected, phase != .ended, disconnectReason == nil else { return }
        heard(at: now)
        if let quick = QuickReply(line) { return answer(quick.id, .dispatch(quick.dispatch), at: now) }
        let message: BusMessage
        do throws(BusError) {
            message = try BusMessage(parsing: line)
        } catch {
            return violated(error)
        }
        switch message {
        case .event(let name, let event): take(event, named: name, size: line.count)
        case .reply(let reply):
            let outcome: ReplyOutcome =
                reply["ok"]?.bool == true ? .object(reply) : .failure(BusError(reply: reply["error"]))
            if let id = reply["id"]?.int {
                answer(id, outcome, at: now)
            } else {
                answerWithoutID(outcome, at: now)
            }
        }
    }

    /// The peer violates the protocol, or something is missing: the connection is given up, and
    /// everything continues on the next one.
    mutating func violated(_ error: BusError) {
        if disconnectReason == nil { disconnectReason = error }
    }

    private mutating func answer(_ id: Int, _ outcome: ReplyOutcome, at now: Int) {
        if let first = requests.unanswered.popFirst() {
            if first.id == id { return answered(first, outcome, at: now) }
            requests.unanswered.putBack(first)
        }
        // Answers come in order, so silence about unacknowledged dispatches before this one means their success. None
        // is removed before the answer is known to match a request, for the others are sent again.
        var silent = 0
        while let sent = requests.unanswered[silent], sent.id < id, !sent.submission.isAcknowledged {
            silent += 1
        }
        guard requests.unanswered[silent]?.id == id else {
            return violated(BusError(.unexpectedReply, "A reply came that belongs to no request."))
        }
        for _ in 0..<silent {
            guard let sent = requests.unanswered.popFirst() else { return }
            effects.append(.complete(sent.submission, .object(["ok": true])))
        }
        if let sent = requests.unanswered.popFirst() { answered(sent, outcome, at: now) }
    }

    /// A line that the bus could not parse is answered without an `id`. It is the first that wants an answer, unless an
    /// unacknowledged one before it nests deeper than the bus parses.
    private mutating func answerWithoutID(_ outcome: ReplyOutcome, at now: Int) {
        let limit = greeting?.limits["depth"]?.int ?? 64
        for sent in requests.unanswered.elements {
            if sent.submission.isAcknowledged || sent.submission.body.depth > limit {
                return answer(sent.id, outcome, at: now)
            }
        }
        violated(BusError(.unexpectedReply, "A reply came that belongs to no request."))
    }

    private mutating func answered(_ sent: SentRequest, _ reply: ReplyOutcome, at now: Int) {
        let submission = sent.submission
        switch reply {
        case .dispatch(let quick): saw(quick.revision, submission.role)
        case .object(let object): if let revision = object["revision"]?.int { saw(revision, submission.role) }
        case .failure: break
        }
        let outcome = sent.doubt(about: reply).map { ReplyOutcome.failure(Self.outcomeUnknown($0)) } ?? reply
        if case .failure(let error) = outcome { noticeFailure(of: submission, error) }
        switch submission.role {
        case .plain: effects.append(.complete(submission, outcome))
        case .drop, .createEphemeral, .will:
            if case .drop(let addresses, _) = submission.role { noticeLost(addresses, reply) }
            note(submission.role, outcome)
            effects.append(.complete(submission, outcome))
        case .subscribe(let request):
            subscribed(request.number, outcome, isWanted: !submission.isSettled)
            effects.append(.complete(submission, outcome))
        case .hello: greeted(outcome, at: now)
        case .restoreStore(let index): storeRestored(index, outcome, at: now)
        case .createAgain(let number):
            // A store that was refused is asked for again with the next connection.
            if case .success = outcome.object { subscriptions[number]?.presence = .there }
            effects.append(.settle(submission, outcome))
            restored(at: now)
        case .restoreWill:
            if case .failure(let error) = outcome {
                effects.append(.notice(.willLost(error)))
            } else {
                will?.isKept = true
            }
            restored(at: now)
        case .resubscribe(let number):
            subscribed(number, outcome, isWanted: true)
            if phase == .restoring { restored(at: now) }
        case .look(let address):
            guard case .success(let reply) = outcome.object,
                let index = ephemeralStores.firstIndex(where: { $0.address == address })
            else { break }
            (ephemeralStores[index].isInDoubt, ephemeralStores[index].isDropped) = (false, false)
            if reply["stores"]?.array?.isEmpty == true { ephemeralStores.remove(at: index) }
        case .leave: leaving = .answered
        case .probe, .own: break
        }
    }

    /// Nobody waits for the answer to an unacknowledged dispatch: that it failed is told by a notice, and only so.
    mutating func noticeFailure(of submission: Submission, _ error: BusError) {
        if submission.isAcknowledged { return }
        submission.failsByNotice()
        effects.append(.notice(.dispatchFailed(error)))
    }

    /// Stores that went with their session before a drop of them was answered are lost if the drop is refused, except where
    /// the bus says that there is none, or that it does not remember.
    private mutating func noticeLost(_ dropped: [String], _ reply: ReplyOutcome) {
        for address in dropped where requests.droppedStores.remove(address) != nil {
            if case .failure(let error) = reply, ![.unknownStore, .conflict].contains(error.code) {
                effects.append(.notice(.ephemeralStoreLost(address: address, error)))
            }
        }
    }

    private mutating func saw(_ revision: Int, _ role: Submission.Role) {
        seenRevision = max(seenRevision, revision)
        switch role {
        // These replies say nothing of the events of other subscriptions.
        case .subscribe, .resubscribe, .hello: break
        default: settledRevision = max(settledRevision, revision)
        }
    }

    /// Remembers what has to be restored on the next connection.
    private mutating func note(_ role: Submission.Role, _ outcome: ReplyOutcome) {
        guard case .success(let reply) = outcome.object else { return }
        switch role {
        case .createEphemeral(let address, let state, let timeToLive):
            guard reply["created"]?.bool == true else { return }
            requests.droppedStores.remove(address)
            ephemeralStores.removeAll { $0.address == address }
            ephemeralStores.append(EphemeralStore(address: address, state: state, timeToLive: timeToLive))
        case .drop(let addresses, let types):
            ephemeralStores.removeAll { addresses.contains($0.address) }
            // Which ones the expression held for is not said.
            doubtStores(of: types)
            lookAtDoubtful()
        case .will(let actions): will = actions.isEmpty ? nil : (actions: actions, isKept: true)
        default: break
        }
    }
}
