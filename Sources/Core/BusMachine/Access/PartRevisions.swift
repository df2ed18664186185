import BusJSON
import BusLogic

/// When the parts of states last changed that access rules show where they do not show the rest.
///
/// Who sees only parts of a state is given the revision of the last change of these parts in place of the store's own, so
/// that nothing tells when something else of it changed. The rules came into force at `since`: what was before then is not
/// told apart, so a part that has not changed after it has that revision. So it follows from the rules and from the commits
/// behind them, and is the same wherever these were applied.
package final class PartRevisions {
    private struct Key: Hashable {
        let store: Int32
        let rule: Int32
    }

    /// All changes after this revision are known.
    let since: Int
    /// The rules that show parts.
    private let rules: [AccessRule]
    private var changes: [Key: Int] = [:]
    /// Whether some rule is about a type, by its index, as far as that was asked.
    private var types: [Bool?] = []

    /// Nil where no rule shows parts.
    init?(_ access: AccessRules?, since: Int) {
        rules = access?.rules.filter { $0.may.contains(.read) && $0.parts != nil } ?? []
        self.since = since
        if rules.isEmpty { return nil }
    }

    /// Whether some rule shows parts of stores of a type.
    func mayShow(_ type: Int, _ name: () -> String) -> Bool {
        while types.count <= type { types.append(nil) }
        if let known = types[type] { return known }
        let found = rules.contains { $0.mentions(name()) }
        types[type] = found
        return found
    }

    /// How many changes it holds: at most one for each rule and store.
    package var count: Int { changes.count }

    /// The last change of what a rule shows of a store.
    func revision(of store: Int32, by rule: AccessRule) -> Int {
        changes[Key(store: store, rule: Int32(rule.number))] ?? since
    }

    /// A commit changes what rules show of a store, as far as `isTouched` says so of their parts.
    func note(
        _ store: Int32, _ name: String, ofType type: String, _ revision: Int,
        where isTouched: (AccessRule) -> Bool
    ) {
        for rule in rules where rule.covers(type, name) && isTouched(rule) {
            changes[Key(store: store, rule: Int32(rule.number))] = revision
        }
    }

    func forget(_ store: Int32) {
        for rule in rules { changes[Key(store: store, rule: Int32(rule.number))] = nil }
    }

    // MARK: Records

    /// The last change of what a rule shows of a store, by the rule's number.
    typealias Record = (rule: Int, revision: Int)

    /// What is known of a store, in the form that its records have.
    func records(of store: Int32) -> JSON {
        .array(
            rules.compactMap { rule in
                changes[Key(store: store, rule: Int32(rule.number))].map { [.int(rule.number), .int($0)] }
            })
    }

    /// What the record of a store says of its parts.
    static func records(in record: TransferRecord) throws(TransferFailure) -> [Record] {
        var records: [Record] = []
        for pair in record.members["parts"]?.array ?? [] {
            guard let rule = pair[0]?.int, let revision = pair[1]?.int else { throw record.missing("parts") }
            records.append((rule, revision))
        }
        return records
    }

    /// Replaces all that is known of a store.
    func restore(_ store: Int32, _ records: [Record]) {
        forget(store)
        for (number, revision) in records where rules.contains(where: { $0.number == number }) {
            changes[Key(store: store, rule: Int32(number))] = revision
        }
    }
}
