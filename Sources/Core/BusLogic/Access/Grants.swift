import BusJSON
import BusProtocol
import BusState

/// What somebody with certain roles may do: all rules that are about these roles. Two are equal if they show the same of the
/// present and of the past, even if they allow different actions.
package final class Grants: Sendable {
    package let roles: [String]
    private let rules: [AccessRule]
    private let readers: [AccessRule]
    private let historians: [AccessRule]
    private let actionTellers: [AccessRule]
    package let mayManage: Bool
    /// Everything on the bus can be read, whatever will be there.
    package let readsEverything: Bool
    /// Parts of some stores are all that is shown of them.
    package let showsParts: Bool
    /// The whole past is told, and all that happens.
    package let knowsEverything: Bool
    /// Nil where parts of states are shown: when these last changed is noted for each rule, so such grants equal only themselves.
    private let sight: Sight?
    private let sightHash: Int

    init(roles: [String], _ rules: [AccessRule]) {
        self.roles = roles
        self.rules = rules
        readers = rules.filter { $0.may.contains(.read) }
        historians = rules.filter { $0.may.contains(.history) }
        actionTellers = historians.filter(\.tellsActions)
        mayManage = rules.contains(where: \.grantsManage)
        let readsEverything = readers.contains { $0.coversEverything && $0.parts == nil }
        self.readsEverything = readsEverything
        showsParts = !readsEverything && readers.contains { $0.parts != nil }
        knowsEverything = actionTellers.contains(where: \.coversEverything)
        sight = Sight(rules, mayManage: mayManage)
        sightHash = sight.hashValue
    }

    /// What is shown of the bus.
    private struct Sight: Hashable {
        let read: Set<AddressPattern>
        let past: Set<AddressPattern>
        let types: Set<Glob>
        let mayManage: Bool

        init?(_ rules: [AccessRule], mayManage: Bool) {
            func patterns(_ capability: Capability) -> Set<AddressPattern> {
                Set(rules.lazy.filter { $0.may.contains(capability) }.flatMap(\.match))
            }
            if rules.contains(where: { $0.parts != nil }) { return nil }
            (read, past, self.mayManage) = (patterns(.read), patterns(.history), mayManage)
            types = Set(rules.lazy.filter(\.isAboutStores).flatMap(\.match).map(\.type))
        }
    }

    // MARK: Reading

    /// What is shown of a store.
    package enum Visibility {
        case nothing
        case parts(Selection)
        case whole
    }

    package func visibility(of name: String, ofType type: String) -> Visibility {
        Self.visibility(of: name, ofType: type, by: readers)
    }

    private static func visibility(
        of name: String, ofType type: String, by rules: [AccessRule]
    ) -> Visibility {
        var parts: [[String]] = []
        for rule in rules where rule.covers(type, name) {
            guard let selection = rule.parts else { return .whole }
            parts += selection.pointers
        }
        return parts.isEmpty ? .nothing : .parts(Selection(parts))
    }

    /// The rules that show parts of a store; empty where all of it is shown, or nothing.
    package func rulesOfParts(of name: String, ofType type: String) -> [AccessRule] {
        guard showsParts else { return [] }
        let covering = readers.filter { $0.covers(type, name) }
        return covering.contains { $0.parts == nil } ? [] : covering
    }

    /// Whether all of a store is shown.
    package func showsWhole(_ name: String, ofType type: String) -> Bool {
        if readsEverything { return true }
        if case .whole = visibility(of: name, ofType: type) { return true }
        return false
    }

    /// Whether anything is shown of a store.
    package func shows(_ name: String, ofType type: String) -> Bool {
        if readsEverything { return true }
        if case .nothing = visibility(of: name, ofType: type) { return false }
        return true
    }

    /// Whether all stores of a type are shown whole, whatever they will be called.
    package func showsAll(ofType type: String) -> Bool {
        readsEverything || readers.contains { $0.parts == nil && $0.covers(all: type) }
    }

    /// Whether somebody with these roles has to do with a type: it is listed.
    package func knows(type: String) -> Bool {
        mayManage || rules.contains { $0.isAboutStores && $0.mentions(type) }
    }

    /// Whether all that a pattern matches now and later is shown whole.
    package func showsAll(of pattern: AddressPattern) -> Bool {
        if readsEverything { return true }
        return readers.contains { rule in
            rule.parts == nil && rule.match.contains { $0.includes(pattern) }
        }
    }

    /// The member that a client's expression about stores of a pattern reads and that is shown of none of them; nil where each
    /// is shown of some. What is not shown of a store is not there for the expression.
    package func hiddenRead(of reads: StateReads, _ pattern: AddressPattern, isPast: Bool) -> String? {
        if isPast ? knowsEverything : readsEverything { return nil }
        let covering = (isPast ? historians : readers).filter { rule in
            rule.match.contains { $0.meets(pattern) }
        }
        return reads.names.first { name in
            if ["state", "store", "meta"].contains(name) { return false }
            return !covering.contains { $0.shows(some: name) }
        }
    }

    /// The member that a client's expression reads and that is not shown of all stores of a type, whatever they will be
    /// called; nil where there is none.
    package func hiddenRead(of reads: StateReads, ofAll type: String) -> String? {
        if showsAll(ofType: type) { return nil }
        if reads.everything { return "" }
        let covering = readers.filter { $0.covers(all: type) }
        return reads.names.first { name in !covering.contains { $0.shows(all: name) } }
    }

    // MARK: The past

    /// What is shown of a past state of a store.
    package func pastVisibility(of name: String, ofType type: String) -> Visibility {
        knowsEverything ? .whole : Self.visibility(of: name, ofType: type, by: historians)
    }

    /// Whether the actions on a store are shown.
    package func knowsHistory(of name: String, ofType type: String) -> Bool {
        knowsEverything || actionTellers.contains { $0.covers(type, name) }
    }

    package func knowsHistory(ofStore address: String) -> Bool {
        guard let slash = address.utf8.firstIndex(of: UInt8(ascii: "/")) else { return false }
        return knowsHistory(
            of: String(address[address.utf8.index(after: slash)...]), ofType: String(address[..<slash]))
    }

    /// Whether the history of every store of a type is shown: an action addressed to the type may be about any of them.
    package func knowsHistory(ofAll type: String) -> Bool {
        knowsEverything || actionTellers.contains { $0.covers(all: type) }
    }

    /// Whether an action is shown that is addressed to a store, a type, or every type.
    package func knows(action: JSON) -> Bool {
        if let store = action["store"]?.string { return knowsHistory(ofStore: store) }
        guard let type = action["type"]?.string else { return false }
        return type == "*" ? knowsEverything : knowsHistory(ofAll: type)
    }

    /// Whether the history of every store is shown that matches a pattern, now or later.
    package func knowsHistory(of pattern: AddressPattern) -> Bool {
        knowsEverything || actionTellers.contains { rule in rule.match.contains { $0.includes(pattern) } }
    }

    /// Whether anything is shown of what happens to stores that a pattern may match.
    package func mayKnowHistory(of pattern: AddressPattern) -> Bool {
        knowsEverything || actionTellers.contains { rule in rule.match.contains { $0.meets(pattern) } }
    }

    // MARK: Changing

    package func may(_ capability: Capability, _ name: String, ofType type: String) -> Bool {
        rules.contains { $0.allows(capability) && $0.covers(type, name) }
    }

    /// Whether a capability is granted for every store of a type, including those created later.
    package func may(_ capability: Capability, allOf type: String) -> Bool {
        rules.contains { $0.allows(capability) && $0.covers(all: type) }
    }

    /// The rules that allow something with a store.
    package func allowing(
        _ capability: Capability, _ name: String, ofType type: String
    ) -> [AccessRule] {
        rules.filter { $0.allows(capability) && $0.covers(type, name) }
    }

    /// The rules that let one manage the bus.
    package var managing: [AccessRule] { rules.filter(\.grantsManage) }

    /// Whether an action may be dispatched to all stores of all types.
    package func dispatchesEverywhere(_ action: String) -> Bool {
        rules.contains { $0.may.contains(.dispatch) && $0.allows(action) && $0.coversEverything }
    }

    /// Whether an action may be dispatched to some store of a type.
    package func mayDispatch(_ action: String, toSomeOf type: String) -> Bool {
        rules.contains { $0.may.contains(.dispatch) && $0.allows(action) && $0.mentions(type) }
    }

    /// The rules by which an action may be dispatched to a store, or (`name` nil) to all stores of a type.
    package func dispatching(_ action: String, to name: String?, ofType type: String) -> [AccessRule] {
        rules.filter { rule in
            guard rule.may.contains(.dispatch), rule.allows(action) else { return false }
            return name.map { rule.covers(type, $0) } ?? rule.covers(all: type)
        }
    }
}

extension Grants: Hashable {
    package static func == (one: Grants, other: Grants) -> Bool {
        one === other || one.sight != nil && one.sightHash == other.sightHash && one.sight == other.sight
    }

    package func hash(into hasher: inout Hasher) {
        if sight == nil { hasher.combine(ObjectIdentifier(self)) } else { hasher.combine(sightHash) }
    }
}

extension AccessRule {
    fileprivate var isAboutStores: Bool { !may.isSubset(of: .manage) }

    /// Whether it shows something of a member of a state, or all of it.
    fileprivate func shows(some member: String) -> Bool {
        guard let parts else { return true }
        return parts.pointers.contains { $0.first.map { UTF8Order.equal($0, member) } ?? true }
    }

    fileprivate func shows(all member: String) -> Bool {
        guard let parts else { return true }
        return parts.pointers.contains { $0.isEmpty || $0.count == 1 && UTF8Order.equal($0[0], member) }
    }
}

extension AddressPattern {
    /// Whether all that another pattern matches is matched by this one. False may also mean that it is not known.
    fileprivate func includes(_ other: AddressPattern) -> Bool {
        type.includes(other.type) && name.includes(other.name)
    }

    /// Whether some address may be matched by both. True may also mean that it is not known.
    fileprivate func meets(_ other: AddressPattern) -> Bool {
        type.meets(other.type) && name.meets(other.name)
    }
}

extension Glob {
    fileprivate func includes(_ other: Glob) -> Bool {
        if isAny || self == other { return true }
        return other.isLiteral && other.pattern.withUnsafeBytes { matches($0) }
    }

    fileprivate func meets(_ other: Glob) -> Bool {
        if isLiteral { return other.includes(self) }
        return !other.isLiteral || includes(other)
    }
}
