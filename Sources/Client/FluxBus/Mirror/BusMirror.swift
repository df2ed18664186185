import BusJSON

/// A client's copy of the stores one subscription covers, kept by the protocol's one rule: on `reset` forget
/// everything; `states` replace; `changes` patch; `dropped` remove.
///
/// Between two folds the mirror equals the daemon's state at `revision`. Parts of a split event stay invisible until
/// the last is there. An event whose `from` is not the mirror's revision throws `gap`: something is missing, and the
/// stores must be subscribed again. After any thrown error the mirror must not be used.
public struct BusMirror: Sendable {
    public enum Format: String, Sendable, CaseIterable {
        case merge, patch, state
    }

    public let format: Format
    /// True for a subscription without a first state (`initial: false`, or `since`): a change of a store that the
    /// mirror has never seen is then ignored instead of being an error.
    public let isPartial: Bool
    public private(set) var states: [String: JSON] = [:]
    public private(set) var revision: Int
    private var unfinished: Unfinished?

    /// A split event of which more parts are to come.
    private struct Unfinished {
        var states: [String: JSON]
        var touched: [String: MirrorChange.Store]
        let from: Int
        let isReset: Bool
        let coalesced: Int?
    }

    /// An empty mirror. Without `revision` the first event must be a `reset`; with it, the first event's `from`
    /// must equal it.
    public init(format: Format = .merge, startingAt revision: Int? = nil) {
        self.format = format
        self.revision = revision ?? 0
        isPartial = revision != nil
    }

    /// Applies one event. Returns what changed, or nil when more parts follow or when the event changes no states
    /// (`bookmark`, and any event this version does not know).
    public mutating func fold(_ event: JSONObject) throws(BusError) -> MirrorChange? {
        switch event["event"]?.string {
        case "change": return try foldChange(event)
        case "bookmark":
            revision = try Self.integer("revision", of: event)
            return nil
        default: return nil
        }
    }

    private mutating func foldChange(_ event: JSONObject) throws(BusError) -> MirrorChange? {
        let more = event["more"]?.bool ?? false
        var work = try begin(event)
        if !more {
            // In place: the map is not shared while it is changed, so a small change of a large mirror is small.
            states = [:]
        }
        try apply(event, to: &work)
        if more {
            unfinished = work
            return nil
        }
        states = work.states
        revision = try Self.integer("revision", of: event)
        return MirrorChange(
            from: work.from, revision: revision, isReset: work.isReset,
            isPartial: isPartial && !work.isReset, coalesced: work.coalesced,
            stores: work.touched.values.sorted { UTF8Order.precedes($0.address, $1.address) })
    }

    /// The working copy for a part: that of the previous parts, or a new one.
    private mutating func begin(_ event: JSONObject) throws(BusError) -> Unfinished {
        let begun = unfinished
        unfinished = nil
        // The bus may start again while an event is under way; only a first part says `reset`.
        if let begun, event["reset"]?.bool != true { return begun }
        let from = try Self.integer("from", of: event)
        let isReset = event["reset"]?.bool ?? false
        guard isReset || from == revision else {
            throw BusError(
                .gap, "Changes between the revisions \(revision) and \(from) are missing: subscribe again.",
                details: ["expected": .int(revision), "from": .int(from)])
        }
        return Unfinished(
            states: isReset ? [:] : states, touched: [:], from: from, isReset: isReset,
            coalesced: event["coalesced"]?.int)
    }

    private func apply(_ event: JSONObject, to work: inout Unfinished) throws(BusError) {
        for member in event["states"]?.object ?? [:] {
            note(member.key, new: member.value, patch: nil, in: &work)
        }
        for member in event["changes"]?.object ?? [:] {
            guard let old = work.states[member.key] else {
                guard isPartial else {
                    throw BusError(
                        .gap, "A change came for \(member.key), whose state never did: subscribe again.")
                }
                note(member.key, new: nil, patch: member.value, in: &work)
                continue
            }
            let new = try patched(old, with: member.value, address: member.key)
            note(member.key, new: new, patch: member.value, in: &work)
        }
        for address in event["dropped"]?.array ?? [] {
            guard let address = address.string else { continue }
            note(address, new: nil, patch: nil, isDropped: true, in: &work)
        }
    }

    /// Records the change of one store. A store that an earlier part touched keeps the state it had
    /// before all parts as the old one.
    private func note(
        _ address: String, new: JSON?, patch: JSON?, isDropped: Bool = false, in work: inout Unfinished
    ) {
        let old = work.touched[address].map(\.old) ?? work.states[address]
        if new != nil || isDropped { work.states[address] = new }
        work.touched[address] = MirrorChange.Store(
            address: address, old: old, new: new, patch: patch, isDropped: isDropped)
    }

    private func patched(_ old: JSON, with change: JSON, address: String) throws(BusError) -> JSON {
        switch format {
        case .state: return change
        case .merge: return MergePatch.apply(change, to: old)
        case .patch:
            do {
                return try JSONPatch.apply(change, to: old)
            } catch {
                throw BusError(
                    .gap, "A patch for \(address) does not fit its state (\(error)): subscribe again.")
            }
        }
    }

    private static func integer(_ name: String, of event: JSONObject) throws(BusError) -> Int {
        guard let value = event[name]?.int else {
            throw BusError(.unexpectedReply, "A change came without its \(name).")
        }
        return value
    }
}

/// A mirror kept by a subscription's events, which are never split.
extension BusMirror {
    /// Applies an event of a subscription. Returns what changed, or nil when it changes no states.
    public mutating func fold(_ event: SubscriptionEvent) throws(BusError) -> MirrorChange? {
        switch event {
        case .change(let change): try fold(change.object)
        case .bookmark(let revision): try fold(["event": "bookmark", "revision": .int(revision)])
        case .action, .gap, .ended: nil
        }
    }
}

/// The effect of one event, or of all parts of a split one, on a mirror.
public struct MirrorChange: Sendable {
    /// One store that the event touched.
    public struct Store: Sendable {
        public let address: String
        /// The state before; nil when the mirror did not hold the store.
        public let old: JSON?
        /// The state after; nil when the store was dropped, or when the mirror can't know it.
        public let new: JSON?
        /// The change as it was sent, in the subscription's format; nil when the whole state came or it was dropped.
        public let patch: JSON?
        public let isDropped: Bool
    }

    /// The revision of the previous event, and of this one.
    public let from: Int
    public let revision: Int
    /// True when everything known before was forgotten.
    public let isReset: Bool
    /// True when the mirror had no first state: a store without an old state need not be a new one.
    public let isPartial: Bool
    /// How many commits were merged into this change; nil when it is exactly one, or not said.
    public let coalesced: Int?
    /// The touched stores in the order of their addresses.
    public let stores: [Store]
}
