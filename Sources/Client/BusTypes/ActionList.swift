import BusJSON
import BusProtocol
import Flux

/// The actions of a state that clients can dispatch over the wire, each with its payload. The list is made from samples, so
/// it repeats nothing that the action enum already says.
///
/// ```swift
/// enum Action: Codable, Sendable {
///     case setTarget(celsius: Double, room: String? = nil, by: Int = 1)
///     case boost(minutes: Int = 10)
///     case reset
/// }
///
/// static let actions = ActionList<Thermostat>(.boost(), .reset)
///     .requiring { .setTarget(celsius: $0) }
/// ```
///
/// A sample is encoded, so its name, its members and their defaults are those of the enum: `boost` takes
/// `minutes`, an integer that is 10 when absent. What a client must give comes from `requiring`: `setTarget`
/// needs the number `celsius`; `room` may be absent, and so may `by`, which is 1 then. A payload on the wire is checked as
/// strictly as that of a declared type: a member that is unknown, of the wrong type, or missing though required is refused.
///
/// A list that can't work, such as one with two samples of one name or an argument without a label, stops the program with a
/// message when it is first used. A daemon refuses a type with an action that is neither listed nor named in ``excluding(_:)``.
public struct ActionList<State: SharedState>: Sendable {
    /// What can't work in this list, each as a sentence; empty if the list is usable.
    package private(set) var mistakes: [String] = []
    /// In ascending order of the bytes of their names.
    private var forms: [ActionForm] = []
    /// The names of actions that the wire does not offer.
    private var excluded: Set<String> = []

    /// A list of actions whose arguments a client may all leave out.
    public init(_ samples: State.Action...) {
        for sample in samples {
            add { () throws(ActionForm.Mistake) in try .init(sample, State.Action.self) }
        }
    }

    /// Adds an action with one argument that a client must give.
    public func requiring<A: ActionArgument>(_ make: (A) -> State.Action) -> ActionList {
        let a = A.samples
        return adding(make(a.0), make(a.1))
    }

    /// Adds an action with two arguments that a client must give.
    public func requiring<A: ActionArgument, B: ActionArgument>(
        _ make: (A, B) -> State.Action
    ) -> ActionList {
        let (a, b) = (A.samples, B.samples)
        return adding(make(a.0, b.0), make(a.1, b.1))
    }

    /// Adds an action with three arguments that a client must give.
    public func requiring<A: ActionArgument, B: ActionArgument, C: ActionArgument>(
        _ make: (A, B, C) -> State.Action
    ) -> ActionList {
        let (a, b, c) = (A.samples, B.samples, C.samples)
        return adding(make(a.0, b.0, c.0), make(a.1, b.1, c.1))
    }

    /// Adds an action with four arguments that a client must give.
    public func requiring<A: ActionArgument, B: ActionArgument, C: ActionArgument, D: ActionArgument>(
        _ make: (A, B, C, D) -> State.Action
    ) -> ActionList {
        let (a, b, c, d) = (A.samples, B.samples, C.samples, D.samples)
        return adding(make(a.0, b.0, c.0, d.0), make(a.1, b.1, c.1, d.1))
    }

    /// Keeps these actions off the wire: they are for stores within a process.
    public func excluding(_ samples: State.Action...) -> ActionList {
        var list = self
        for sample in samples {
            do throws(ActionForm.Mistake) {
                list.excluded.insert(try ActionForm.coded(sample).name)
            } catch {
                list.mistakes.append("In \(State.self).actions, \(error.reason)")
            }
        }
        return list
    }

    /// The actions of the enum that the list lacks, each as a sentence.
    package var omissions: [String] {
        guard let all = forms.lazy.compactMap(\.siblings).first else { return [] }
        return all.filter { name in
            !excluded.contains(name) && !forms.contains { UTF8Order.equal($0.name, name) }
        }.map {
            "\(State.self).actions does not list \($0); add a sample of it, or say that the wire does not offer it: "
                + "`.excluding(.\($0))`."
        }
    }

    /// The names of the actions, in ascending order of their bytes.
    public var names: [String] { usable.map(\.name) }

    // MARK: Inside

    private func adding(_ first: State.Action, _ second: State.Action) -> ActionList {
        var list = self
        list.add { () throws(ActionForm.Mistake) in try .init(first, State.Action.self, or: second) }
        return list
    }

    mutating func add(_ make: () throws(ActionForm.Mistake) -> ActionForm) {
        do throws(ActionForm.Mistake) {
            let form = try make()
            let place = forms.firstIndex { !UTF8Order.precedes($0.name, form.name) } ?? forms.count
            if place < forms.count, UTF8Order.equal(forms[place].name, form.name) {
                mistakes.append("\(State.self).actions lists \(form.name) twice; keep one of them.")
            } else {
                forms.insert(form, at: place)
            }
        } catch {
            mistakes.append("In \(State.self).actions, \(error.reason)")
        }
    }

    /// The forms. A list with a mistake stops the program.
    package var usable: [ActionForm] {
        if let mistake = mistakes.first { fatalError(mistake) }
        return forms
    }
}

/// Actions whose payloads are declared as in a type file.
extension ActionList {
    /// A list of the actions that a type file declares, for code generated from one.
    ///
    /// ```swift
    /// static let actions = ActionList<Thermostat>(declared: [
    ///     "boost": [:],
    ///     "setTarget": ["celsius": "number", "room": "string?", "by": ["type": "integer", "default": 1]],
    /// ])
    /// ```
    ///
    /// A member is the name of its type, with `?` where it may be absent, or an object with `type` and `default`. The
    /// coding of the action enum must match it.
    public init(declared actions: JSONObject) {
        self.init()
        for action in actions {
            add { () throws(ActionForm.Mistake) in
                try .init(action.key, declared: action.value.object ?? [:])
            }
        }
    }
}

extension ActionForm {
    fileprivate init(_ name: String, declared payload: JSONObject) throws(Mistake) {
        var members: [PayloadSchema.Member] = []
        for member in payload {
            let word = member.value.string ?? member.value["type"]?.string ?? ""
            let isOptional = word.hasSuffix("?")
            guard let type = PayloadType(rawValue: isOptional ? String(word.dropLast()) : word) else {
                let hint = suggestion(for: word, among: PayloadType.words)
                throw Mistake(reason: "\(name).\(member.key) is of no payload type: \(hint)")
            }
            let fallback = member.value["default"]
            members.append(
                .init(
                    name: member.key, type: type, isOptional: isOptional || fallback != nil,
                    fallback: fallback))
        }
        try self.init(name: name, payload: PayloadSchema(members))
    }
}
