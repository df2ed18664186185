import BusJSON
import BusLogic
import BusProtocol

/// What the log keeps of types changes by an entry. The stores of a type of which nothing was kept before stand in it
/// with all that snapshots have of them; those of a type of which nothing is kept any more are gone where the log is replayed.
extension StateMachine {
    /// `,"keeping":{"presence":"none"}`, and the stores that come with it.
    func append(_ policies: [PolicyChange], to line: ByteWriter) {
        line.append(
            ",\"keeping\":",
            jsonObject: policies.reduce(into: [:]) { $0[$1.type] = .string($1.policy.rawValue) })
        var records: [JSON] = []
        for change in policies where change.isFirst {
            if let entry = typesByName[change.type] { records += self.records(of: entry) }
        }
        if !records.isEmpty { line.append(",\"kept\":", jsonArray: records) }
    }

    private func records(of entry: TypeEntry) -> [JSON] {
        if entry.view != nil { return [] }
        let members = entry.members.filter { $0 >= 0 }
        var owners: Set<SessionID> = []
        var records: [JSONObject] = []
        for index in members {
            let store = stores.pointer(index)
            var record: JSONObject = [
                "kind": "store", "type": .string(entry.name), "name": .string(store.pointee.name),
                "state": .object(store.pointee.state), "revision": .int(store.pointee.revision),
            ]
            if let parts, parts.mayShow(Int(entry.index), { entry.name }) {
                record["parts"] = parts.records(of: index)
            }
            if let creator = identities.identity(number: Int(store.pointee.creator)) {
                record["creator"] = .object(creator.members)
            } else if store.pointee.creator == StoreRecord.configured {
                record["creator"] = "configuration"
            }
            if let owner = sessions[store.pointee.owner] {
                record["owner"] = .int(owner.id)
                owner.isLogged = true
                if owners.insert(owner.id).inserted {
                    records.append(owner.record)
                    records[records.count - 1]["kind"] = "session"
                }
            }
            records.append(record)
        }
        for timer in timers(of: entry) {
            records.append(record(of: timer))
            records[records.count - 1]["kind"] = "timer"
        }
        return records.map(JSON.object)
    }

    /// The timers and leases of a type and its stores, in the order in which they were set.
    private func timers(of entry: TypeEntry) -> [BusTimer] {
        timersInOrder.filter { timer in
            switch timer.owner {
            case .store(let store): type(of: store) === entry
            case .type(let name): UTF8Order.equal(name, entry.name)
            }
        }
    }

    /// Puts policies in force, with the commit of a revision.
    func keep(_ policies: [PolicyChange], since revision: Int) {
        for change in policies {
            keep(change, since: revision)
            guard change.isFirst, let entry = typesByName[change.type] else { continue }
            // A replay sets its timers with this commit, behind all others that are due at the same time.
            for timer in timers(of: entry) { setLast(timer) }
        }
    }

    /// A store that comes with an entry, and when it and the parts that rules show changed last. `parts` is nil in entries of
    /// earlier versions, which do not tell parts apart.
    struct KeptStore {
        let store: Int32
        let revision: Int
        let parts: [PartRevisions.Record]?
    }

    /// Replays what an entry says of it; the stores that come or go join those of the commit. Returns those that come.
    func replayPolicies(
        of entry: JSONObject, into details: CommitDetails
    ) throws(RequestError) -> [KeptStore] {
        guard let keeping = entry["keeping"]?.object else { return [] }
        for member in keeping.members {
            guard let type = typesByName[member.key],
                let policy = member.value.string.flatMap({ LogPolicy(rawValue: $0) })
            else { throw RequestError(.internal, "it keeps what this version does not know") }
            keep(
                PolicyChange(type: member.key, policy: policy, isFirst: type.kept == .none),
                since: revision + 1)
            if policy != .none || type.view != nil { continue }
            details.dropped += type.members.filter { $0 >= 0 }
            removeTimers(ofType: type.name)
        }
        var taken: [KeptStore] = []
        for record in entry["kept"]?.array ?? [] {
            do {
                let record = TransferRecord(
                    members: record.object ?? [:], data: UnsafeRawBufferPointer(start: nil, count: 0))
                switch record.kind {
                case "store": taken.append(try takeKept(record))
                case "timer": try takeTimer(record)
                case "session":
                    var session = record.members
                    session["will"] = session["will"] ?? []
                    try restoreSession(session)
                default: throw record.missing("kind")
                }
            } catch {
                throw RequestError(.internal, "it keeps a store that is none")
            }
        }
        details.created += taken.map(\.store)
        return taken
    }

    /// Gives them their own revisions: the commit that brings them did not change them.
    func date(_ taken: [KeptStore]) {
        for kept in taken {
            stores.pointer(kept.store).pointee.revision = kept.revision
            if let seen = kept.parts { parts?.restore(kept.store, seen) }
        }
    }

    private func takeKept(_ record: TransferRecord) throws -> KeptStore {
        let address = "\(try record.string("type"))/\(try record.string("name"))"
        let creator =
            switch record.members["creator"] {
            case .object(let members)?: Identity(members).map { identities.number(of: $0) }
            case "configuration": Optional(StoreRecord.configured)
            default: Optional(StoreRecord.nobody)
            }
        let owner = record.members["owner"]?.int.map { sessions[$0] }
        guard let creator, owner.map({ $0 != nil }) ?? true else { throw record.missing("creator") }
        let state = try record.object("state")
        let store = try address.utf8Span.span.withUnsafeBytes { (bytes) throws(RequestError) in
            let parts = try requireAddress(bytes)
            let entry = try requireType(parts.type)
            try requireFree(address, parts, entry)
            return insert(parts.name, of: entry, state, creator: creator, owner: owner ?? nil)
        }
        return KeptStore(
            store: store, revision: try record.integer("revision"),
            parts: record.members["parts"] == nil ? nil : try PartRevisions.records(in: record))
    }
}
