import BusJSON
import BusProtocol
import BusState

/// What somebody with certain roles may do: all rules that are about these roles. Equal only to itself: who has the same
/// roles under the same rules has the same grants.
package final class Grants: Sendable {
    package let roles: [String]
    private let rules: [AccessRule]
    private let readers: [AccessRule]
    private let historians: [AccessRule]
    package let mayManage: Bool
    /// Everything on the bus can be read, whatever will be there.
    package let readsEverything: Bool
    /// The same of the past, and of what happens.
    package let knowsEverything: Bool

    init(roles: [String], _ rules: [AccessRule]) {
        self.roles = roles
        self.rules = rules
        readers = rules.filter { $0.may.contains(.read) }
        historians = rules.filter { $0.may.contains(.history) && $0.parts == nil }
        mayManage = rules.contains { $0.may.contains(.manage) }
        let readsEverything = readers.contains { $0.coversEverything && $0.parts == nil }
        self.readsEverything = readsEverything
        knowsEverything = readsEverything && historians.contains { $0.coversEverything }
    }

    // MARK: Reading

    /// What is shown of a store.
    package enum Visibility {
        case nothing
        case parts(Selection)
        case whole
    }

    package func visibility(of name: String, ofType type: String) -> Visibility {
        var parts: [[String]] = []
        for rule in readers where rule.covers(type, name) {
            guard let selection = rule.parts else { return .whole }
            parts += selection.pointers
        }
        return parts.isEmpty ? .nothing : .parts(Selection(parts))
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
        mayManage || rules.contains { !$0.may.isSubset(of: .manage) && $0.mentions(type) }
    }

    /// Whether all that a pattern matches now and later is shown whole.
    package func showsAll(of pattern: AddressPattern) -> Bool {
        if readsEverything { return true }
        return readers.contains { rule in
            rule.parts == nil && rule.match.contains { $0.includes(pattern) }
        }
    }

    // MARK: The past

    /// Whether what happened to a store is shown: only where all of its state is.
    package func knowsHistory(of name: String, ofType type: String) -> Bool {
        knowsEverything
            || historians.contains { $0.covers(type, name) } && showsWhole(name, ofType: type)
    }

    /// The same of all stores of a type: what is addressed to the type may be about any of them.
    package func knowsHistory(ofAll type: String) -> Bool {
        knowsEverything || historians.contains { $0.covers(all: type) } && showsAll(ofType: type)
    }

    /// The same of all that a pattern matches now and later.
    package func knowsHistory(of pattern: AddressPattern) -> Bool {
        if knowsEverything { return true }
        return showsAll(of: pattern)
            && historians.contains { rule in rule.match.contains { $0.includes(pattern) } }
    }

    // MARK: Changing

    package func may(_ capability: Capability, _ name: String, ofType type: String) -> Bool {
        rules.contains { $0.may.contains(capability) && $0.covers(type, name) }
    }

    /// The rules that allow something with a store.
    package func allowing(
        _ capability: Capability, _ name: String, ofType type: String
    ) -> [AccessRule] {
        rules.filter { $0.may.contains(capability) && $0.covers(type, name) }
    }

    /// The rules that allow something, whatever the store.
    package func allowing(_ capability: Capability) -> [AccessRule] {
        rules.filter { $0.may.contains(capability) }
    }

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
    package static func == (one: Grants, other: Grants) -> Bool { one === other }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension AddressPattern {
    /// Whether all that another pattern matches is matched by this one. False may also mean that it is not known.
    fileprivate func includes(_ other: AddressPattern) -> Bool {
        type.includes(other.type) && name.includes(other.name)
    }
}

extension Glob {
    fileprivate func includes(_ other: Glob) -> Bool {
        if isAny || self == other { return true }
        return other.isLiteral && other.pattern.withUnsafeBytes { matches($0) }
    }
}
