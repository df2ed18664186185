import BusJSON
import BusLogic
import BusMachine

/// The expression of subscriptions that choose stores by what they are like, as those with the same view of the stores see
/// them. All groups that have it share it, so a commit evaluates it once for each store that it changes, and only where a
/// member changes that it may read.
final class StoreTest {
    struct Key: Hashable {
        let filter: StoreFilter
        let view: Grants?
    }

    let key: Key
    /// The groups that want the stores for which it holds, as far as their patterns match.
    @exclusivity(unchecked) fileprivate(set) var groups: [SubscriberGroup] = []
    /// The last change to a store by which it was found to be touched.
    @exclusivity(unchecked) fileprivate var lastTouch = 0

    init(_ key: Key) { self.key = key }

    /// Whether it holds for a store; `work` grows by what that took.
    func holds(for store: Int32, in machine: StateMachine, _ work: inout Int) -> Bool {
        let visibility = key.view.map { machine.visibility(of: store, to: $0) } ?? .whole
        if case .nothing = visibility { return false }
        var operations = 0
        defer { work &+= Work.test &+ Work.operation &* operations }
        return machine.matches(store, key.filter, seenAs: visibility, .null, &operations)
    }
}

extension [StoreTest] {
    /// Removes one that is among them once, searching from the end: a connection that closes removes its latest first.
    fileprivate mutating func removeLatest(_ test: StoreTest) {
        if let place = lastIndex(where: { $0 === test }) { remove(at: place) }
    }
}

/// The expressions by which stores of one type are wanted.
struct TypeTests {
    private(set) var tests: [StoreTest] = []
    /// Those that depend on a member, by its name, and those that depend on any.
    private var byMember: [String: [StoreTest]] = [:]
    private var onAny: [StoreTest] = []
    /// A bit for each name, so that most others need not be looked up.
    private var names: UInt64 = 0

    var isEmpty: Bool { tests.isEmpty }

    mutating func add(_ test: StoreTest) {
        if tests.contains(where: { $0 === test }) { return }
        tests.append(test)
        let reads = test.key.filter.reads
        guard !reads.everything else { return onAny.append(test) }
        for name in reads.names {
            byMember[name, default: []].append(test)
            names |= Self.bit(of: name)
        }
    }

    mutating func remove(_ test: StoreTest) {
        tests.removeLatest(test)
        let reads = test.key.filter.reads
        guard !reads.everything else { return onAny.removeLatest(test) }
        // A bit that is set for no name any more costs a look-up at most.
        for name in reads.names {
            byMember[name]?.removeLatest(test)
            if byMember[name]?.isEmpty == true { byMember[name] = nil }
        }
    }

    @inline(__always)
    private static func bit(of name: String) -> UInt64 {
        1 &<< UInt64(truncatingIfNeeded: name.utf8.count &* 7 &+ Int(name.utf8.first ?? 0))
    }

    /// Whether one depends on a member.
    func read(_ name: String) -> Bool {
        !onAny.isEmpty || names & Self.bit(of: name) != 0 && byMember[name] != nil
    }

    /// Those that may come to another result by the change that the machine has just made; `number` is another for each change.
    func touched(by change: StoreChange, _ number: Int, of machine: StateMachine) -> [StoreTest] {
        var found = onAny
        machine.forEachChangedMember(change) { name in
            if names & Self.bit(of: name) == 0 { return }
            for test in byMember[name] ?? [] where test.lastTouch < number {
                test.lastTouch = number
                found.append(test)
            }
        }
        return found
    }
}

/// All expressions by which subscriptions choose stores.
struct StoreTests {
    private var known: [StoreTest.Key: StoreTest] = [:]
    /// By the type's index.
    private var byType: [TypeTests] = []
    var isEmpty: Bool { known.isEmpty }
    /// Groups that want actions on the stores for which an expression holds.
    private(set) var actionGroups: [SubscriberGroup] = []

    /// The expressions by which stores of a type are wanted; nil where there are none.
    @inline(__always)
    subscript(type: Int32) -> TypeTests? {
        let place = Int(truncatingIfNeeded: type)
        guard place < byType.count, !byType[place].isEmpty else { return nil }
        return byType[place]
    }

    @inline(__always)
    func watch(_ type: Int) -> Bool { type < byType.count && !byType[type].isEmpty }

    /// Whether one for stores of a type depends on a member.
    func read(_ member: String, of type: Int32) -> Bool { self[type]?.read(member) ?? false }

    /// The test of a group that is made; nil where its filter has no expression.
    mutating func test(for filter: SubscriptionFilter) -> StoreTest? {
        guard let chosen = filter.chosen else { return nil }
        let key = StoreTest.Key(filter: chosen, view: filter.view)
        if let test = known[key] { return test }
        let test = StoreTest(key)
        known[key] = test
        return test
    }

    mutating func add(_ group: SubscriberGroup, _ types: [TypeEntry]) {
        guard let test = group.test else { return }
        test.groups.append(group)
        if group.key.actions { actionGroups.append(group) }
        for type in types { watch(type, by: group) }
    }

    private mutating func watch(_ type: TypeEntry, by group: SubscriberGroup) {
        guard let test = group.test, group.key.pattern.type.matches(type.name) else { return }
        while byType.count <= Int(type.index) { byType.append(TypeTests()) }
        byType[Int(type.index)].add(test)
    }

    mutating func remove(_ group: SubscriberGroup, _ types: [TypeEntry]) {
        guard let test = group.test else { return }
        test.groups.removeAll { $0 === group }
        if group.key.actions { actionGroups.removeAll { $0 === group } }
        if test.groups.isEmpty { known[test.key] = nil }
        for type in types where Int(type.index) < byType.count && group.key.pattern.type.matches(type.name) {
            if test.groups.contains(where: { $0.key.pattern.type.matches(type.name) }) { continue }
            byType[Int(type.index)].remove(test)
        }
    }

    /// There are types from one on that were not there before, or all are others.
    mutating func noteTypes(_ types: ArraySlice<TypeEntry>) {
        for test in known.values { for group in test.groups { for type in types { watch(type, by: group) } } }
    }

    /// The types are others than before.
    mutating func forgetTypes() { byType = [] }

    /// The groups that choose stores of a type.
    func groups(ofType type: Int32) -> [SubscriberGroup] { self[type]?.tests.flatMap(\.groups) ?? [] }
}

extension SubscriberGroups {
    /// The machine is to know what expressions depend on now.
    func noteTests() {
        machine.noteReaders(
            beside: tests.isEmpty ? nil : { [weak self] in self?.tests.read($1, of: $0) ?? false })
    }
}
