import BusJSON
import BusLogic
import BusProtocol

/// Restores a state machine from the records of a snapshot, or from the machine's share of a hand-over.
///
/// A type that the machine already has stays if the states of its stores fit it. A type that they do not fit, or that is
/// gone, keeps the definition of the records. After a failure the machine must be discarded.
package final class Restoration {
    private let machine: StateMachine
    private let bus: TransferRecord

    /// Records that can be applied only when everything before them is known.
    private var definitions: [String: JSON] = [:]
    private var definitionsInOrder: [JSON] = []
    private var stores: [TransferRecord] = []
    private var viewStamps: [String: StateMachine.ViewStamp] = [:]
    private var drops: [TransferRecord] = []
    /// What the log keeps of types, and since which revision, where it does not keep everything or has not always done so.
    private var policies: [String: (kept: LogPolicy, since: Int)] = [:]
    private var timers: [TransferRecord] = []
    /// Types that keep the definition of the records.
    private var kept: [String] = []
    /// Stores that get new states, with the definition that they were under.
    private var redefined: [(definition: JSON, stores: [(store: Int32, state: JSONObject)])] = []

    package init(of bus: TransferRecord, in machine: StateMachine) throws(TransferFailure) {
        self.machine = machine
        self.bus = bus
        machine.epoch = try bus.string("epoch")
        machine.revision = try bus.integer("revision")
        machine.time = max(machine.time, try bus.integer("now"))
        let nextSession = bus.members["nextSession"]?.int ?? 0
        guard StateMachine.isSession(nextSession) else { throw bus.missing("nextSession") }
        machine.sessions.begin(at: nextSession)
        if bus.flag("followsParts") { machine.followsParts = true }
        if bus.members["forgottenThrough"] != nil {
            machine.forgottenThrough = try bus.integer("forgottenThrough")
        }
    }

    /// Accepts a record; false if it does not belong to a state machine.
    package func take(_ record: TransferRecord) throws(TransferFailure) -> Bool {
        switch record.kind {
        case "type": try takeDefinition(record)
        case "access": try takeAccess(record)
        case "identity": try takeIdentity(record)
        case "session": try takeSession(record)
        case "store": stores.append(record)
        case "view": try takeView(record)
        case "drop": drops.append(record)
        case "timer": timers.append(record)
        case "key": try takeKey(record)
        default: return false
        }
        return true
    }

    /// The result: stores with the states that they get under a changed definition, and types that keep the definition of the
    /// records.
    package struct Outcome {
        package let replaced: [(store: Int32, state: JSONObject)]
        package let kept: [String]
        /// Views that are new or have changed, types that replace views, and the names of views that are gone. They take effect
        /// with a commit, which shows what they change.
        let views: [any StateType]
        let goneViews: [String]

        /// Whether there is nothing to commit.
        package var isEmpty: Bool { replaced.isEmpty && views.isEmpty && goneViews.isEmpty }
    }

    /// Applies what had to wait for all records.
    package func finish() throws(TransferFailure) -> Outcome {
        let (views, goneViews) = try setViewsAside()
        // A machine that starts without types, as for a snapshot, takes those of the records.
        if machine.types.isEmpty {
            for definition in definitionsInOrder { try define(definition) }
        }
        for (name, policy) in policies {
            if let type = machine.typesByName[name] { (type.kept, type.keptSince) = policy }
        }
        machine.noteKept()
        let replaced = try takeStores()
        for record in timers { try machine.takeTimer(record) }
        turnTimers()
        machine.keys.forgottenThrough = try bus.integer("keysForgotten")
        machine.sequence = try bus.integer("sequence")
        try takeDrops(forgottenThrough: bus.integer("dropsForgotten"))
        machine.restoreViews(viewStamps)
        return Outcome(replaced: replaced, kept: kept, views: views, goneViews: goneViews)
    }

    // MARK: Types

    private func takeDefinition(_ record: TransferRecord) throws(TransferFailure) {
        guard let definition = record.members["definition"], let name = definition["type"]?.string else {
            throw record.missing("definition")
        }
        definitions[name] = definition
        definitionsInOrder.append(definition)
        let since = try record.members["keptSince"].map { _ throws(TransferFailure) in
            try record.integer("keptSince")
        }
        let kept = record.members["keep"]?.string.map { LogPolicy(rawValue: $0) } ?? .all
        guard let kept else { throw record.missing("keep") }
        if kept != .all || since != nil { policies[name] = (kept, since ?? 0) }
    }

    /// Gives a machine that already has types the views that the records were made with. Returns the types to define by a
    /// commit afterwards, and the names of views that are gone.
    private func setViewsAside() throws(TransferFailure) -> (views: [any StateType], gone: [String]) {
        if machine.types.isEmpty { return ([], []) }
        var views: [any StateType] = []
        for type in machine.liveTypes.map(\.type)
        where type.isView && definitions[type.name] != type.definition {
            let isOther = definitions[type.name].map { $0["view"] == nil } ?? false
            if isOther { continue }
            views.append(type)
            machine.undefine(type.name)
        }
        var gone: [String] = []
        for definition in definitionsInOrder where definition["view"] != nil {
            let name = definition["type"]?.string ?? ""
            if let known = machine.typesByName[name] {
                if known.type.isView { continue }
                // The machine has a type of this name that is no view: it replaces the view.
                views.append(known.type)
            } else if !views.contains(where: { $0.name == name }) {
                gone.append(name)
            }
            try define(definition)
        }
        return (views, gone)
    }

    private func define(_ definition: JSON) throws(TransferFailure) {
        do throws(RequestError) {
            try machine.define(definition)
        } catch {
            throw TransferFailure("What was handed over can't be used: \(error.message).")
        }
    }

    private func keepDefinition(_ definition: JSON, _ name: String) throws(TransferFailure) {
        do {
            machine.define(try machine.compile(definition))
        } catch {
            throw TransferFailure(
                "The type \(name) has stores but no definition that fits them (\(error)); give it one.")
        }
        kept.append(name)
    }

    private func takeAccess(_ record: TransferRecord) throws(TransferFailure) {
        guard let definition = record.members["definition"] else { throw record.missing("definition") }
        do throws(RequestError) {
            try machine.restoreAccess(definition, since: try? record.integer("since"))
        } catch {
            throw TransferFailure("What was handed over can't be used: \(error.message).")
        }
        // An earlier version did not follow parts: all that had changed by then counts as changed at this revision.
        machine.followParts(since: record.members["parts"]?.int ?? machine.revision)
    }

    // MARK: Identities and sessions

    private func takeIdentity(_ record: TransferRecord) throws(TransferFailure) {
        guard let identity = Identity(record.members) else { throw record.missing("token") }
        _ = machine.identities.number(of: identity)
    }

    private func takeSession(_ record: TransferRecord) throws(TransferFailure) {
        var session: JSONObject = [
            "will": record.members["will"] ?? [], "connection": .int(try record.integer("connection")),
            "by": .object(try record.object("by")),
        ]
        for name in ["session", "linger"] { session[name] = record.members[name] }
        do throws(ReplayFailure) {
            try machine.restoreSession(session)
        } catch {
            throw TransferFailure(error.message)
        }
    }

    private func takeKey(_ record: TransferRecord) throws(TransferFailure) {
        let digest = DeduplicationTable.Digest(
            first: UInt64(bitPattern: Int64(try record.anyInteger("first"))),
            second: UInt64(bitPattern: Int64(try record.anyInteger("second"))))
        let entry = DeduplicationTable.Entry(
            digest: digest, revision: try record.integer("revision"), matched: try record.integer("matched"),
            changed: try record.integer("changed"))
        let identity = Int32(truncatingIfNeeded: try record.integer("identity"))
        try record.string("key").utf8Span.span.withUnsafeBytes { key in
            machine.keys.remember(entry, as: machine.keys.id(identity, key))
        }
        if let returned = record.members["returned"]?.object {
            machine.keys.keep(returned, of: entry.revision)
        }
    }

    // MARK: Stores

    private func takeStores() throws(TransferFailure) -> [(store: Int32, state: JSONObject)] {
        var byType: [String: [TransferRecord]] = [:]
        for record in stores { byType[try record.string("type"), default: []].append(record) }
        var replaced: [(store: Int32, state: JSONObject)] = []
        for (name, records) in byType.sorted(by: { UTF8Order.precedes($0.key, $1.key) }) {
            guard let definition = definitions[name] else { throw records[0].missing("type") }
            replaced += try takeStores(records, name, definition)
        }
        machine.orderTypes()
        return replaced
    }

    private func takeStores(
        _ records: [TransferRecord], _ name: String, _ definition: JSON
    ) throws(TransferFailure) -> [(store: Int32, state: JSONObject)] {
        var newStates: [JSONObject]?
        if machine.typesByName[name]?.type.definition != definition {
            newStates = fitted(records, to: machine.typesByName[name]?.type, old: definition)
            if newStates == nil { try keepDefinition(definition, name) }
        }
        let taken = try takeStores(records, of: machine.typesByName[name]!)
        guard let newStates else { return [] }
        let replaced = zip(taken, newStates).map { (store: $0, state: $1) }
        redefined.append((definition, replaced))
        return replaced
    }

    /// Sets and cancels the timers of stores whose type has changed, at once: none of it can be refused.
    private func turnTimers() {
        for (definition, stores) in redefined {
            guard let old = try? machine.compile(definition), let name = definition["type"]?.string,
                let type = machine.typesByName[name]?.type
            else { continue }
            for (store, state) in stores { machine.turnTimers(of: store, from: old, to: type, on: state) }
        }
        machine.timerUndo.forget()
    }

    private func takeStores(
        _ records: [TransferRecord], of entry: TypeEntry
    ) throws(TransferFailure) -> [Int32] {
        var taken: [Int32] = []
        for record in records { taken.append(try takeStore(record, of: entry)) }
        for index in taken.sorted(by: {
            machine.stores.pointer($0).pointee.sequence < machine.stores.pointer($1).pointee.sequence
        }) {
            entry.moveToNewest(index)
        }
        return taken
    }

    /// The states under a changed definition; nil if one does not fit it.
    private func fitted(
        _ records: [TransferRecord], to type: (any StateType)?, old: JSON
    ) -> [JSONObject]? {
        guard let type, !type.isView else { return nil }
        let (named, namedNow) = (NamedMembers(of: old), NamedMembers(of: type.definition))
        var states: [JSONObject] = []
        for record in records {
            let state = old.withoutComputed(record.members["state"]?.object ?? [:])
            let origin = named.origin(of: state, under: namedNow)
            guard let fitting = try? type.adopt(state, of: old.definedVersion, from: origin),
                fitting.encodedSize <= machine.limits.state
            else { return nil }
            states.append(fitting)
        }
        return states
    }

    private func takeStore(_ record: TransferRecord, of entry: TypeEntry) throws(TransferFailure) -> Int32 {
        let name = try record.string("name")
        let address = "\(entry.name)/\(name)"
        let isFree = address.utf8Span.span.withUnsafeBytes { bytes in
            AddressParts(bytes).map { machine.stores.find(type: entry.index, name: $0.name) == nil }
        }
        guard isFree == true, try record.integer("revision") <= machine.revision else {
            throw record.missing("name")
        }
        let state = try record.object("state")
        let size = state.encodedSize
        guard size < Int32.max else { throw record.missing("state") }
        let sequence = try record.integer("sequence")
        guard sequence > 0 else { throw record.missing("sequence") }
        let owner = record.members["owner"]?.int ?? -1
        let session = machine.session(owner)
        guard owner == -1 || session != nil else { throw record.missing("owner") }
        let creator = Int32(truncatingIfNeeded: try record.anyInteger("creator"))
        // Stores of views have records of their own, without a state.
        guard creator != StoreRecord.view else { throw record.missing("creator") }
        let index = machine.stores.insert(
            StoreRecord(
                name: name, state: state, revision: try record.integer("revision"),
                sequence: sequence, owner: owner, older: -1, newer: -1, type: entry.index,
                place: -1, size: Int32(size), creator: creator, write: -1))
        entry.add(index)
        let seen = try PartRevisions.records(in: record)
        // Nothing is known of a new store that would have to be forgotten.
        if !seen.isEmpty { machine.parts?.restore(index, seen) }
        machine.stateBytes += size
        session?.ephemeralStores.insert(index)
        return index
    }

    private func takeView(_ record: TransferRecord) throws(TransferFailure) {
        let address = "\(try record.string("type"))/\(try record.string("name"))"
        let (revision, sequence) = (try record.integer("revision"), try record.integer("sequence"))
        guard revision <= machine.revision, sequence > 0 else { throw record.missing("revision") }
        viewStamps[address] = .init(
            revision: revision, sequence: sequence, parts: try PartRevisions.records(in: record))
    }

    private func takeDrops(forgottenThrough: Int) throws(TransferFailure) {
        var known: [DropLog.Drop] = []
        var forgottenThrough = forgottenThrough
        for record in drops {
            guard let entry = machine.typesByName[try record.string("type")] else {
                // The type is gone, but a mirror of all types may still hold the store: a subscription that resumes from an
                // earlier revision gets a reset.
                forgottenThrough = max(forgottenThrough, try record.integer("revision"))
                continue
            }
            known.append(
                .init(
                    revision: try record.integer("revision"), type: entry.index,
                    name: try record.string("name")))
        }
        machine.dropLog = DropLog(known, forgottenThrough: forgottenThrough)
    }
}
