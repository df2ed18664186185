import BusJSON
import BusProtocol

/// Requests that may be sent again: recognised by their key, committed once.
extension StateMachine {
    /// The request's key and its digest; nil when it has none.
    package func keyed(_ request: RequestReader, by principal: Principal) throws(RequestError)
        -> KeyedRequest?
    {
        let after = try request.integer(.after)
        let epoch = try request.string(.epoch)
        guard let key = try request.key else {
            if after != nil || epoch != nil {
                throw .invalid(
                    after != nil ? "after" : "epoch", "`after` and `epoch` go with `key`; give all three.")
            }
            return nil
        }
        return try keyed(request, key, by: principal, after: after, epoch: epoch)
    }

    /// The key of a request that is known to have one, with its digest.
    @inline(__always)
    package func keyed(
        _ request: RequestReader, _ key: UnsafeRawBufferPointer, by principal: Principal, after: Int? = nil,
        epoch: String? = nil
    ) throws(RequestError) -> KeyedRequest {
        guard !key.isEmpty, key.count <= BusLimits.key else {
            throw .invalid("key", "`key` must be 1 to \(BusLimits.key) bytes of text made by the client.")
        }
        guard (after == nil) == (epoch == nil) else {
            throw .invalid(
                after == nil ? "after" : "epoch", "`after` and `epoch` go together; give both or neither.")
        }
        let id = keys.id(principal.number, key)
        keys.prepare(for: id)
        let tellsVersion = isCreation(request) && rules >= BusLimits.rulesOfPrices
        var digest = digest(of: request, tellsVersion: tellsVersion)
        if tellsVersion, let known = earlierDigest(of: request, as: id) { digest = known }
        return KeyedRequest(
            id: id, digest: digest, after: after,
            isOfOtherEpoch: epoch.map { $0 != self.epoch } ?? false)
    }

    /// The earlier commit with this key, if there was one; throws when the answer can't be known or differs.
    package func duplicate(of key: KeyedRequest) throws(RequestError) -> DeduplicationTable.Entry? {
        if key.isOfOtherEpoch {
            throw RequestError(
                .conflict,
                "The bus began a new epoch since; whether this was committed is unknown. Look, then decide.")
        }
        if let earlier = keys[key.id] {
            guard earlier.digest == key.digest else {
                throw RequestError(.conflict, "This key was used for another request; make a new one.")
            }
            return earlier
        }
        if let after = key.after, after < keys.forgottenThrough || after > revision {
            throw RequestError(
                .conflict,
                "Keys are no longer remembered back to revision \(after); whether this was committed is unknown. Look, then decide."
            )
        }
        return nil
    }

    @inline(__always)
    private func isCreation(_ request: RequestReader) -> Bool {
        !request.present.contains(.action) && request.op.elementsEqual("create".utf8)
    }

    /// The digest that earlier rules had, if the key was remembered with it.
    @inline(never)
    private func earlierDigest(
        of request: RequestReader, as id: DeduplicationTable.ID
    ) -> DeduplicationTable.Digest? {
        guard let known = keys[id]?.digest else { return nil }
        return known == digest(of: request, tellsVersion: false) ? known : nil
    }

    /// The digest of the request, without what may differ when it is sent again.
    ///
    /// - Parameter tellsVersion: It has the `version`, or says that there is none; by earlier rules none has.
    private func digest(of request: RequestReader, tellsVersion: Bool) -> DeduplicationTable.Digest {
        let head: ResolvedDispatch.DigestHead
        if let known = request.resolved?.pointee.digest {
            head = known
        } else {
            head = digestOfNames(of: request)
            request.resolved?.pointee.digest = head
        }
        let writer = keyScratch
        writer.clear()
        writer.write(atMost: 8) { $0.append(word: head.tail, count: head.count & 7) }
        // A missing payload equals an empty one.
        if request.present.contains(.payload) {
            request.writePayload(to: writer)
        } else {
            writer.append("{}")
        }
        if request.hasMembersBeyondKeyedDispatch {
            appendOptions(of: request, to: writer)
        } else {
            writer.append("||||||")
        }
        if tellsVersion {
            writer.append(raw: "|version")
            if let version = request.value(.version) { writer.append(json: version) }
        }
        return DeduplicationTable.digest(of: writer.bytes, after: head)
    }

    private func digestOfNames(of request: RequestReader) -> ResolvedDispatch.DigestHead {
        let writer = keyScratch
        writer.clear()
        let texts = request.op.count + request.type.count + request.store.count + request.action.count
        writer.write(atMost: texts + 4 * 21) { pen in
            Self.append(request.op, to: &pen)
            Self.append(request.type, to: &pen)
            Self.append(request.store, to: &pen)
            Self.append(request.action, to: &pen)
        }
        return DeduplicationTable.digestHead(of: writer.bytes)
    }

    @inline(__always)
    private static func append(_ text: UnsafeRawBufferPointer, to pen: inout BytePen) {
        pen.append(decimal: text.count)
        pen.append(UInt8(ascii: ":"))
        pen.append(text)
    }

    private func appendOptions(of request: RequestReader, to writer: ByteWriter) {
        for member in [Member.actions, .state, .ephemeral, .ifMissing, .ifRevision, .dryRun] {
            writer.append(UInt8(ascii: "|"))
            // Every flag is false when it is omitted.
            if let value = request.value(member), value != false { writer.append(json: value) }
        }
        // Members that came later: a request without them has the digest it always had.
        for member in [Member.in, .at, .timer, .ttl, .if, .where] {
            guard let value = request.value(member) else { continue }
            writer.append(raw: "|\(member.name)")
            writer.append(json: value)
        }
    }

    /// Remembers the result of a keyed request. `isPart`: the plan lacks some of its actions.
    package func remember(_ key: KeyedRequest, matched: Int, changed: Int, isPart: Bool = false) {
        keys.remember(
            .init(digest: key.digest, revision: revision, matched: matched, changed: changed), as: key.id)
        if hasReturned { rememberReturned(isPart: isPart) }
    }

    /// What the keyed commit of a revision returned; nil if nothing, or if it is no longer known.
    package func returned(byKeyed revision: Int) -> JSONObject? { keys.returned(of: revision) }

    private func rememberReturned(isPart: Bool = false) {
        if let returned = returned(isPart: isPart) { keys.keep(returned, of: revision) }
    }

    /// Remembers the result of a request whose key was found to be new.
    @inline(__always)
    package func remember(new key: KeyedRequest, matched: Int, changed: Int) {
        keys.add(
            .init(digest: key.digest, revision: revision, matched: matched, changed: changed), as: key.id)
        if hasReturned { rememberReturned() }
    }
}

extension DeduplicationTable.Digest {
    package static let none = DeduplicationTable.Digest(first: 0, second: 0)
}
