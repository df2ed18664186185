import BusJSON
import BusProtocol

/// Requests that may be sent again: recognised by their key, committed once.
extension Engine {
    struct Keyed {
        let id: KeyMemory.ID
        let digest: KeyMemory.Digest
        /// What the client had seen when it first sent the request.
        let after: Int?
        let epoch: String?
    }

    /// The request's key and what it stands for; nil when it has none.
    func keyed(_ connection: Connection) throws(RequestError) -> Keyed? {
        let after = try request.integer(.after)
        let epoch = try request.string(.epoch)
        guard let key = try request.string(.key) else {
            if after != nil || epoch != nil {
                throw .invalid(
                    after != nil ? "after" : "epoch", "`after` and `epoch` go with `key`; give all three.")
            }
            return nil
        }
        guard !key.isEmpty, key.utf8.count <= Limits.key else {
            throw .invalid("key", "`key` must be 1 to \(Limits.key) bytes of text made by the client.")
        }
        guard (after == nil) == (epoch == nil) else {
            throw .invalid(
                after == nil ? "after" : "epoch", "`after` and `epoch` go together; give both or neither.")
        }
        return Keyed(
            id: KeyMemory.ID(identity: connection.identityIndex, key: Array(key.utf8)), digest: meaning(),
            after: after, epoch: epoch)
    }

    /// The earlier commit with this key, if there was one; throws when the answer can't be known or differs.
    func duplicate(_ key: Keyed) throws(RequestError) -> KeyMemory.Entry? {
        if let epoch = key.epoch, epoch != configuration.epoch {
            throw RequestError(
                .conflict,
                "The bus began a new epoch since; whether this was committed is unknown. Look, then decide.")
        }
        if let earlier = keys[key.id] {
            guard earlier.digest == key.digest else {
                throw RequestError(.conflict, "This key was used for another request; make a new one.")
            }
            statistics.duplicates += 1
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

    /// What the request asks for, without what may differ when it is sent again.
    private func meaning() -> KeyMemory.Digest {
        let writer = keyScratch
        writer.clear()
        for text in [request.op, request.type, request.store, request.action] {
            writer.append(decimal: text.count)
            writer.append(UInt8(ascii: ":"))
            writer.append(text)
        }
        // No payload is an empty one.
        writer.append(jsonObject: request.present.contains(.payload) ? request.payload : JSONObject())
        for member in [Member.actions, .state, .ephemeral, .ifMissing, .ifRevision, .dryRun] {
            writer.append(UInt8(ascii: "|"))
            // Every flag is false when it is left out.
            if let value = request.value(member), value != false { writer.append(json: value) }
        }
        return KeyMemory.digest(of: writer.bytes)
    }
}

extension KeyMemory.Digest {
    static let none = KeyMemory.Digest(first: 0, second: 0)
}
