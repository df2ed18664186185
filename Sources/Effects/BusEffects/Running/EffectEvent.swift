import BusJSON
import BusLogic
import BusProtocol

/// An action that an effect is about, for one store.
package struct EffectEvent: Sendable {
    /// Which action it is: of a commit, of a batch, and of an action to a whole type the store.
    package struct ID: Hashable, Comparable, Sendable, CustomStringConvertible {
        package let revision: Int
        package let index: Int
        /// The place of the store among those of an action to all stores of a type; 0 where it went to one store.
        package let part: Int

        package init(revision: Int, index: Int = 0, part: Int = 0) {
            (self.revision, self.index, self.part) = (revision, index, part)
        }

        /// As it is written: `4711:0`, and `4711:0.3` for the third of several stores.
        package init?(_ text: String) {
            let halves = text.split(separator: ":", omittingEmptySubsequences: false)
            let parts = halves.last?.split(separator: ".", omittingEmptySubsequences: false) ?? []
            guard halves.count == 2, (1...2).contains(parts.count), let revision = Int(halves[0]),
                let index = Int(parts[0]), let part = parts.count == 2 ? Int(parts[1]) : 0,
                revision > 0, index >= 0, part >= 0
            else { return nil }
            self.init(revision: revision, index: index, part: part)
        }

        package var description: String {
            part == 0 ? "\(revision):\(index)" : "\(revision):\(index).\(part)"
        }

        package static func < (left: ID, right: ID) -> Bool {
            (left.revision, left.index, left.part) < (right.revision, right.index, right.part)
        }
    }

    package let id: ID
    package let store: String
    /// The action as the bus told it: `action`, `payload`, `by`, `time`, and what else it says.
    package let object: JSONObject
    /// About how many bytes it takes.
    package let size: Int

    package init(_ id: ID, store: String, object: JSONObject, size: Int = 0) {
        (self.id, self.store, self.object, self.size) = (id, store, object, size)
    }

    /// The event of a commit, as the history has it; of an effect with a condition it is no action of it.
    package init?(_ id: ID, store: String, in commit: JSON, for effect: Effect) {
        let action =
            effect.becoming == nil
            ? commit.indexedActions.first { $0.index == id.index }?.action : ["payload": [:]]
        guard commit["revision"] == .int(id.revision), var object = action?.object else { return nil }
        object["by"] = commit["by"]
        object["time"] = commit["time"]
        object["traceparent"] = commit["traceparent"]
        self.init(id, store: store, object: object)
    }

    package var action: String { object["action"]?.string ?? "" }
    package var revision: Int { id.revision }
    /// Its action's place in a trace, if it has one.
    package var traceparent: String? { object["traceparent"]?.string }

    /// What expressions see.
    package func data(for effect: Effect, state: JSON? = nil) -> JSON {
        data(of: EffectValue.names, for: effect, state: state)
    }

    /// What expressions see, limited to these members, in any order.
    func data(of names: some Collection<String>, for effect: Effect, state: JSON? = nil) -> JSON {
        let slash = store.utf8.firstIndex(of: UInt8(ascii: "/")) ?? store.endIndex
        return .object(
            names.reduce(into: JSONObject()) { data, name in
                data[name] =
                    switch name {
                    case "action": object["action"] ?? ""
                    case "by": object["by"] ?? [:]
                    case "effect": .string(effect.name)
                    case "name": .string(String(Substring(store.utf8[slash...].dropFirst())))
                    case "payload": object["payload"] ?? [:]
                    case "revision": .int(revision)
                    case "state": state
                    case "store": .string(store)
                    case "time": object["time"] ?? 0
                    case "type": .string(String(store[..<slash]))
                    default: preconditionFailure("No other name is known to an effect's expressions.")
                    }
            })
    }

    /// The event as a program reads it.
    package func json(for effect: Effect) -> JSON {
        var json = object
        for name in ["event", "sub", "type", "results"] { json[name] = nil }
        json["store"] = .string(store)
        json["revision"] = .int(revision)
        json["effect"] = .string(effect.name)
        return .object(json)
    }
}

/// What is to be done for one event, with nothing left to work out.
package enum EffectTask: Sendable, Equatable {
    case run(path: String, arguments: [String])
    case unit(UnitVerb, String)
    case post(PostTask)
    /// The members of a `dispatch`, its key aside.
    case dispatch(JSONObject)

    /// In one line, for people.
    package var text: String {
        switch self {
        case .run(let path, let arguments): "run \(JSON.array(([path] + arguments).map(JSON.string)).encoded)"
        case .unit(let verb, let name): "\(verb.rawValue) \(name)"
        case .post(let task): task.text
        case .dispatch(let members):
            "dispatch \((members["store"] ?? members["type"])?.string ?? "") \(members["action"]?.string ?? "") "
                + (members["payload"]?.encoded ?? "{}")
        }
    }
}

extension Effect {
    /// Whether an action of a store, or of its whole type, may be meant: by its name and its address.
    package func concerns(action: String, store: String?, type: String?) -> Bool {
        guard actions.contains(where: { UTF8Order.equal($0, action) }) else { return false }
        // An effect does not follow from what is said about itself: that would never end.
        guard let store else { return type == self.type }
        return matches(store) && store != self.store
    }

    /// Whether a store's address fits the pattern.
    package func matches(_ store: String) -> Bool {
        store.utf8Span.span.withUnsafeBytes { address in
            guard let slash = address.firstIndex(of: UInt8(ascii: "/")) else { return false }
            return pattern.type.matches(UnsafeRawBufferPointer(rebasing: address[..<slash]))
                && pattern.name.matches(UnsafeRawBufferPointer(rebasing: address[(slash + 1)...]))
        }
    }

    /// Whether the condition holds. One without a value does not, as one that reads a member that is not there.
    package func isMeant(_ data: JSON) -> Bool {
        guard let condition else { return true }
        return (try? condition.holds(on: data)) ?? false
    }

    /// Whether an event is meant, by a condition that does not read the state.
    package func isMeant(_ event: EffectEvent) -> Bool {
        guard let condition else { return true }
        return isMeant(event.data(of: condition.reads, for: self))
    }

    /// What is to be done. A refusal is a clause, and no later attempt helps.
    package func task(_ data: JSON) throws(EffectRefusal) -> EffectTask {
        switch deed {
        case .unit(let verb, let template): return .unit(verb, try template.name(on: data))
        case .post(let template): return .post(try template.task(on: data))
        case .run(let path, let values):
            var arguments: [String] = []
            for (number, value) in values.enumerated() {
                let what = "argument \(number + 1) of run"
                let text = try value.text(on: data, what)
                guard !text.utf8.contains(0) else {
                    throw EffectRefusal("\(what) has a zero byte in it, which would end it")
                }
                arguments.append(text)
            }
            return .run(path: path, arguments: arguments)
        case .dispatch(let template): return .dispatch(try template.members(on: data))
        }
    }

    /// The key of the dispatch for an event, which the bus commits once.
    package func key(_ id: EffectEvent.ID, epoch: String) -> String { "\(name):\(epoch):\(id)" }
}
