import BusJSON
import BusLogic
import BusProtocol

/// What new definitions would do to the bus, found out without changing anything: a dry run shows it, `redefine` puts it
/// in force.
package struct Redefinition {
    /// A type whose stores change from one version to another.
    package struct Migration: Equatable, Sendable {
        package let type: String
        package let from: Int
        package let to: Int
        /// How many stores it has.
        package let stores: Int

        package init(type: String, from: Int, to: Int, stores: Int) {
            self.type = type
            self.from = from
            self.to = to
            self.stores = stores
        }
    }

    /// Why new definitions can't be put in force. Each reason is a sentence that says what to do.
    package struct Refusal: Error {
        package let reasons: [(type: String, reason: String)]
        /// How many further reasons there are.
        package let more: Int

        /// All of them, for one line.
        package var message: String {
            reasons.map(\.reason).joined(separator: " ") + (more > 0 ? " And \(more) more." : "")
        }
    }

    /// All types of the bus from then on.
    let types: [any StateType]
    /// The definitions that differ from those in force, and the names of types that go.
    package fileprivate(set) var definitions: [JSON] = []
    package fileprivate(set) var undefined: [String] = []
    package fileprivate(set) var migrations: [Migration] = []
    /// The stores that would differ, with their new states.
    package fileprivate(set) var states: [(store: Int32, state: JSONObject)] = []

    /// What the log keeps more or less of.
    fileprivate(set) var policies: [StateMachine.PolicyChange] = []

    /// How many timers stores gain by it.
    fileprivate(set) var timers = 0

    /// Access rules, if they differ; null: there will be none.
    package fileprivate(set) var access: JSON?
    fileprivate(set) var rules: AccessRules?

    /// Whether nothing is to be committed.
    package var isEmpty: Bool {
        definitions.isEmpty && undefined.isEmpty && access == nil && policies.isEmpty
    }
}

extension StateMachine {
    /// Works out what definitions would do; throws where they do not fit what is there. `isWithConnected`: stores have to fit
    /// as well that end with a connection, because those stay.
    package func redefinition(
        with loaded: [any StateType], access: AccessRules?, isWithConnected: Bool = true
    ) throws(Redefinition.Refusal) -> Redefinition {
        var planned = Redefinition(types: loaded)
        if access?.definition != self.access?.definition {
            planned.access = access?.definition ?? .null
            planned.rules = access
        }
        planned.policies = policyChanges(with: loaded)
        var misfits = Misfits()
        for entry in typesInOrder where !loaded.contains(where: { $0.name == entry.name }) {
            planned.undefined.append(entry.name)
            if entry.view != nil { continue }
            let count = isWithConnected ? entry.count : stay(of: entry)
            if count > 0 {
                misfits.add(
                    entry.name,
                    "\(entry.name) is gone but has \(count == 1 ? "1 store" : "\(count) stores"); put its definition back, and drop them first."
                )
            }
        }
        var growth = 0
        for type in loaded {
            guard let entry = typesByName[type.name] else {
                planned.definitions.append(type.definition)
                continue
            }
            if entry.type.definition == type.definition { continue }
            planned.definitions.append(type.definition)
            // The stores of a view are not migrated but worked out.
            if entry.view != nil { continue }
            if type.isView {
                if entry.count > 0 {
                    misfits.add(
                        entry.name,
                        "\(entry.name) is a view now but has \(entry.count == 1 ? "1 store" : "\(entry.count) stores") of its own; drop them first, or give the view another name."
                    )
                }
                continue
            }
            plan(type, for: entry, isWithConnected, into: &planned, &growth, &misfits)
        }
        if stateMemory + growth > limits.memory {
            misfits.add(
                "", "The states would take more than limits.memory, \(limits.memory) bytes; raise it.")
        }
        if planned.timers > 0, timers.count + planned.timers > limits.timers {
            misfits.add(
                "", "The bus would have more timers than limits.timers, \(limits.timers); raise it.")
        }
        if let refusal = misfits.refusal { throw refusal }
        return planned
    }

    private func plan(
        _ type: any StateType, for entry: TypeEntry, _ isWithConnected: Bool,
        into planned: inout Redefinition, _ growth: inout Int, _ misfits: inout Misfits
    ) {
        let (old, new) = (entry.type.version, type.version)
        guard new >= old else {
            misfits.add(
                entry.name,
                "\(entry.name) has version \(old) on the bus, and this definition is version \(new): states do not go back, so give it version \(old + 1) with a step from \(old)."
            )
            return
        }
        if new > old {
            planned.migrations.append(.init(type: entry.name, from: old, to: new, stores: entry.count))
        }
        let (named, namedNow) = (NamedMembers(of: entry.type.definition), NamedMembers(of: type.definition))
        for index in entry.members where index >= 0 {
            let record = stores.pointer(index)
            if !isWithConnected, endsWithConnection(index) { continue }
            do throws(PayloadFailure) {
                let before = entry.type.definition.withoutComputed(record.pointee.state)
                let state = try type.adopt(
                    before, of: old,
                    from: rules < 2 ? .firstRules : named.origin(of: before, under: namedNow))
                let size = state.encodedSize
                guard size <= limits.state else {
                    throw PayloadFailure(
                        "the state would be longer than limits.state, \(limits.state) bytes.")
                }
                let timers = try requireTimers(of: index, from: entry.type, to: type, on: state)
                growth += timers.reduce(size - Int(record.pointee.size), +)
                planned.timers += timers.count
                if state != record.pointee.state { planned.states.append((index, state)) }
            } catch {
                let way =
                    new == old
                    ? " Give the type version: \(old + 1) and a step under migrate: \(old) that makes the states fit."
                    : ""
                misfits.add(entry.name, "\(address(of: Int(index))): \(error.message)\(way)")
            }
        }
    }

    /// The sizes of the timers that a store gains by a definition; throws where it can't have them.
    private func requireTimers(
        of store: Int32, from old: any StateType, to type: any StateType, on state: JSONObject
    ) throws(PayloadFailure) -> [Int] {
        do throws(TimerRefusal) {
            let gained = try timerChanges(of: store, from: old, to: type, on: state).compactMap {
                $0.setting.map { BusTimer.size(of: $0.payload) }
            }
            guard
                gained.isEmpty
                    || timers.count(from: firstTimer(of: .store(store))) + gained.count
                        <= limits.timersOfStore
            else { throw TimerRefusal("it would have more than \(limits.timersOfStore) timers") }
            guard gained.allSatisfy({ $0 <= limits.state }) else {
                throw TimerRefusal("a timer's payload would be longer than \(limits.state) bytes")
            }
            return gained
        } catch {
            throw PayloadFailure("\(error.reason).")
        }
    }

    /// How many stores of a type don't end with a connection.
    private func stay(of entry: TypeEntry) -> Int {
        entry.members.count { $0 >= 0 && !endsWithConnection($0) }
    }

    /// Whether a store belongs to a session that does not wait for its client.
    private func endsWithConnection(_ store: Int32) -> Bool {
        session(stores.pointer(store).pointee.owner)?.linger == 0
    }
}

/// Reasons against new definitions. The first ones are told, the rest is counted: a type may have a million stores.
private struct Misfits {
    private static let shown = 20

    private var reasons: [(type: String, reason: String)] = []
    private var more = 0

    mutating func add(_ type: String, _ reason: String) {
        if reasons.count < Self.shown { reasons.append((type, reason)) } else { more += 1 }
    }

    var refusal: Redefinition.Refusal? {
        reasons.isEmpty ? nil : Redefinition.Refusal(reasons: reasons, more: more)
    }
}
