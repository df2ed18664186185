import BusJSON

/// Outgoing requests.
extension ClientSession {
    /// Accepts a request, which then is settled in any case.
    package mutating func submit(_ submission: Submission) {
        if phase == .ended {
            return effects.append(.complete(submission, .failure(Self.closed)))
        }
        if case .subscribe(let request) = submission.role {
            subscriptions[request.number] = SubscriptionRecord(request)
        }
        requests.add(submission)
    }

    /// Writes pending requests, until `writer` holds about `room` bytes.
    package mutating func write(to writer: ByteWriter, room: Int) {
        guard phase != .disconnected, phase != .ended, disconnectReason == nil else { return }
        while let submission = requests.own.popFirst() {
            write(SentRequest(submission: submission), to: writer)
        }
        guard phase == .open else { return }
        while writer.count < room, let sent = requests.resending.popFirst() {
            writeUnlessSettled(sent, to: writer)
        }
        while writer.count < room, let submission = requests.waiting.popFirst() {
            requests.waitingBytes -= submission.size
            writeUnlessSettled(SentRequest(submission: submission), to: writer)
        }
        if needsMarker {
            needsMarker = false
            write(
                SentRequest(submission: Submission(.request(BusRequest("ping")), role: .own)), to: writer)
        }
    }

    private mutating func writeUnlessSettled(_ sent: SentRequest, to writer: ByteWriter) {
        if let outcome = sent.submission.outcome {
            if case .subscribe(let request) = sent.submission.role { subscriptions[request.number] = nil }
            return effects.append(.complete(sent.submission, outcome))
        }
        // One that may have been committed is sent again: the bus knows by its key.
        if let meant = sent.submission.epoch, meant != epoch,
            !sent.isRepeated || sent.submission.repetition == .free
        {
            let error = BusError(
                .conflict,
                "The bus has begun a new history, in which revisions from before mean nothing; read again.",
                details: ["epoch": .string(epoch)])
            return effects.append(.complete(sent.submission, .failure(error)))
        }
        write(sent, to: writer)
    }

    private mutating func write(_ request: SentRequest, to writer: ByteWriter) {
        var sent = request
        let submission = sent.submission
        let start = writer.count
        sent.id = requests.takeID()
        if case .subscribe(let request) = submission.role, let record = subscriptions[request.number] {
            subscriptions[request.number]?.isResuming = record.position != nil
            RequestBody.request(record.wire()).writeOpen(to: writer, id: sent.id)
        } else {
            submission.body.writeOpen(to: writer, id: sent.id)
        }
        if submission.repetition == .keyed { writeKey(&sent, to: writer) }
        if !submission.isAcknowledged { writer.append(",\"ack\":false") }
        writer.append("}\n")
        let length = writer.count - start
        if length > lineLimit {
            writer.truncate(to: start)
            return refuseLong(sent, length)
        }
        written += length
        sent.end = written
        needsMarker = !submission.isAcknowledged
        requests.unanswered.append(sent)
    }

    /// The key by which the bus recognises the request, and, when it is sent again, what the client had seen at first.
    private mutating func writeKey(_ sent: inout SentRequest, to writer: ByteWriter) {
        let bringsOwnKey = sent.submission.body.bringsOwnKey
        if bringsOwnKey, case .request(let request) = sent.submission.body, request["after"] != nil { return }
        if !sent.isRepeated {
            if !bringsOwnKey, sent.key == 0 {
                sent.key = requests.takeKey()
            }
            sent.after = seenRevision
            sent.epoch = epoch
        }
        if !bringsOwnKey {
            writer.append(",\"key\":\"", raw: keyPrefix)
            writer.append(decimal: sent.key)
            writer.append(UInt8(ascii: "\""))
        }
        if sent.isRepeated {
            writer.append(",\"after\":", decimal: sent.after)
            writer.append(",\"epoch\":", quoted: sent.epoch)
        }
    }

    /// A line that the bus would refuse without an `id` is not sent at all.
    private mutating func refuseLong(_ sent: SentRequest, _ length: Int) {
        let submission = sent.submission
        var error = BusError(
            .tooLarge, "This request takes \(length) bytes, the bus takes \(lineLimit); send less at a time.")
        if sent.doubt(about: .failure(error)) != nil { error = Self.outcomeUnknown(error) }
        noticeFailure(of: submission, error)
        if case .subscribe(let request) = submission.role { subscriptions[request.number] = nil }
        guard !submission.role.isOwn else { return finish(error) }
        effects.append(.complete(submission, .failure(error)))
    }

    /// Removes requests that are not written and already settled.
    package mutating func withdrawSettled() {
        for submission in requests.waiting.removeAll() {
            if let outcome = submission.outcome {
                if case .subscribe(let request) = submission.role { subscriptions[request.number] = nil }
                requests.waitingBytes -= submission.size
                effects.append(.complete(submission, outcome))
            } else {
                requests.waiting.append(submission)
            }
        }
        for sent in requests.resending.removeAll() {
            if let outcome = sent.submission.outcome {
                if case .subscribe(let request) = sent.submission.role { subscriptions[request.number] = nil }
                effects.append(.complete(sent.submission, outcome))
            } else {
                requests.resending.append(sent)
            }
        }
    }
}
