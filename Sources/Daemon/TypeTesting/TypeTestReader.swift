import BusJSON
import BusLogic
import BusProtocol
import BusSource
import Glibc

/// Reads the tests of one type. What can't be right is a mistake with its place: a member or an action that the type lacks, a
/// payload that it never takes, a test that nothing can fail.
struct TypeTestReader {
    let type: any StateType
    let types: [String: any StateType]

    private static let members = [
        "name", "given", "stores", "store", "time", "uid", "payload", "dispatch", "state", "rejected",
        "unchanged",
        "returns",
    ]
    private static let stepMembers = ["action", "payload", "store", "type", "after"]
    private static let expectations = ["state", "rejected", "unchanged", "returns"]

    /// The start of 2026, where a test says no time.
    private static let standardTime = 1_767_225_600_000
    private static let standardUser = 1000

    private var declared: DeclaredType? { type as? DeclaredType }
    private var view: ViewRules? { declared?.view }

    /// Reads a list of tests; adds what is wrong with each.
    func read(_ source: LocatedValue, _ errors: inout [SourceError]) -> [TypeTest] {
        do throws(SourceError) {
            var tests: [TypeTest] = []
            for element in try source.array("tests") {
                do throws(SourceError) {
                    tests.append(try test(element))
                } catch {
                    errors.append(error)
                }
            }
            return tests
        } catch {
            errors.append(error)
            return []
        }
    }

    private func test(_ source: LocatedValue) throws(SourceError) -> TypeTest {
        let test = try source.object("each test")
        try test.refuseMembers(besides: Self.members, of: "a test")
        for name in view == nil ? [] : ["given", "rejected", "returns"] {
            guard let member = test.member(name) else { continue }
            throw SourceError(
                "\(name) is for tests of types; say in stores what the view is made of, and in state what it is then.",
                at: member.place)
        }
        let given = try test["given"]?.object("given")
        if let given { try check(state: given, of: type) }
        let rejection = try rejection(test["rejected"])
        let steps = view != nil && test["dispatch"] == nil ? [] : try steps(test, rejection)
        let expectations =
            view == nil ? Self.expectations : steps.isEmpty ? ["state"] : ["state", "unchanged"]
        guard expectations.contains(where: { test[$0] != nil }) else {
            throw SourceError(
                "Nothing can fail here; say what holds afterwards: \(Self.choice(of: expectations)).",
                at: test.place)
        }
        if let unchanged = test["unchanged"], try !unchanged.bool("unchanged") {
            throw unchanged.failure("unchanged is true or left out; write what changes as state.")
        }
        if let state = test["state"], view == nil || state.json != .null {
            try check(part: state.object("state"))
        }
        return TypeTest(
            name: try test["name"]?.string("name") ?? steps.last { $0.request != nil }?.action
                ?? "time passes",
            type: type.name, place: test.place,
            store: "\(type.name)/\(try name(of: test))", isOfView: view != nil, given: given,
            others: try others(test["stores"]), time: try time(test["time"]),
            uid: try test["uid"]?.int("uid", in: 0...Int(UInt32.max)) ?? Self.standardUser, steps: steps,
            state: test["state"], rejection: rejection, unchanged: test.member("unchanged")?.place,
            result: test["returns"])
    }

    private static func choice(of words: [String]) -> String {
        words.count == 1
            ? words[0] : words.dropLast().joined(separator: ", ") + " or " + words[words.count - 1]
    }

    /// The name of the store that is tested.
    private func name(of test: LocatedObject) throws(SourceError) -> String {
        guard let source = test["store"] else {
            guard view?.hasOneStore ?? true else {
                throw SourceError(
                    "\(type.name) has a store for each value of by; name the one that is tested: store: …",
                    at: test.place)
            }
            return view == nil ? "main" : "all"
        }
        let name = try source.string("store")
        guard !name.contains("/") else {
            throw source.failure("store is the name of one \(type.name); leave out what is before the slash.")
        }
        return name
    }

    // MARK: - What there is

    private func others(_ source: LocatedValue?) throws(SourceError) -> [TypeTest.OtherStore] {
        var others: [TypeTest.OtherStore] = []
        for member in try source?.object("stores").members ?? [] {
            let type = member.key.prefix { $0 != "/" }
            guard type.utf8.count + 1 < member.key.utf8.count else {
                throw SourceError("\(member.key) is not a store; write TYPE/NAME.", at: member.place)
            }
            guard let type = types[String(type)] else {
                throw SourceError(
                    "There is no type \(type); \(suggestion(for: String(type), among: types.keys.sorted()))",
                    at: member.place)
            }
            let state = try member.value.object("the state of \(member.key)")
            try check(state: state, of: type)
            others.append(.init(address: member.key, state: state.json, place: member.place))
        }
        return others
    }

    /// Checks the members that a state is given.
    private func check(state: LocatedObject, of type: any StateType) throws(SourceError) {
        for member in state.members where (type as? DeclaredType)?.isComputed(member.key) ?? false {
            throw SourceError("\(member.key) is computed; give what it reads.", at: member.place)
        }
        guard let reason = Self.refusal(of: state.json, type) else { return }
        // An invariant may be about several members; what is wrong with one is wrong without the others, too.
        let member = state.members.first { Self.refusal(of: [$0.key: $0.value.json], type) == reason }
        throw SourceError(reason, at: member?.place ?? state.place)
    }

    /// Why no store of the type may begin with these members; nil if one may.
    private static func refusal(of state: JSONObject, _ type: any StateType) -> String? {
        do throws(PayloadFailure) {
            _ = try type.state(state, from: .request)
            return nil
        } catch {
            return error.message
        }
    }

    /// Checks that a state may have the members that are expected of it.
    private func check(part: LocatedObject) throws(SourceError) {
        if declared?.isOpen ?? true { return }
        for member in part.members where type.initial[member.key] == nil {
            throw SourceError(
                "\(type.name) has no member \(member.key); \(suggestion(for: member.key, among: type.initial.keys))",
                at: member.place)
        }
    }

    private func time(_ source: LocatedValue?) throws(SourceError) -> Int {
        guard let source else { return Self.standardTime }
        if case .scalar(let value) = source.content {
            if let seconds = value.double, 0...253_402_300_799 ~= seconds {
                return Int((seconds * 1000).rounded())
            }
            if let text = value.string, let seconds = Self.seconds(text) { return seconds * 1000 }
        }
        throw source.failure("time is a time in UTC such as 2026-01-05T09:30Z, or seconds since 1970.")
    }

    /// The seconds since 1970 of a date, or of a date and a time.
    private static func seconds(_ text: String) -> Int? {
        guard let match = text.wholeMatch(of: /(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d))?Z)?/) else {
            return nil
        }
        let found = match.output
        let numbers = [found.1, found.2, found.3, found.4 ?? "0", found.5 ?? "0", found.6 ?? "0"].compactMap {
            Int32($0)
        }
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (numbers[0] - 1900, numbers[1] - 1, numbers[2])
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (numbers[3], numbers[4], numbers[5])
        let seconds = timegm(&parts)
        // What is no date, such as the 30th of February, is brought into order and is another one.
        guard seconds >= 0,
            [parts.tm_mon, parts.tm_mday, parts.tm_hour] == [numbers[1] - 1, numbers[2], numbers[3]]
        else { return nil }
        return seconds
    }

    // MARK: - What is done

    private func rejection(_ source: LocatedValue?) throws(SourceError) -> TypeTest.Rejection {
        guard let source else { return .none }
        switch source.content {
        case .scalar(.bool(true)): return .any(source.place)
        case .scalar(.string(let text)): return .saying(text, source.place)
        default:
            throw source.failure(
                "rejected is a part of the reason, or true for any; leave it out if it is not.")
        }
    }

    private func steps(
        _ test: LocatedObject, _ rejection: TypeTest.Rejection
    ) throws(SourceError) -> [TypeTest.Step] {
        let source = try test.required("dispatch", of: "A test")
        var steps: [TypeTest.Step] = []
        let elements: [LocatedValue] =
            if case .array(let elements) = source.content { elements } else { [source] }
        if elements.count > 1, let payload = test.member("payload") {
            throw SourceError(
                "Which of these takes the payload? Write it there: { action: …, payload: … }.",
                at: payload.place)
        }
        for (index, element) in elements.enumerated() {
            var mayBeRefused = false
            if case .none = rejection {} else { mayBeRefused = index == elements.count - 1 }
            steps.append(
                try step(element, payload: elements.count == 1 ? test["payload"] : nil, mayBeRefused))
        }
        if steps.isEmpty { throw source.failure("dispatch is empty; name an action.") }
        return steps
    }

    private func step(
        _ source: LocatedValue, payload: LocatedValue?, _ mayBeRefused: Bool
    ) throws(SourceError) -> TypeTest.Step {
        guard case .object(let step) = source.content else {
            let name = try source.string("dispatch")
            return try dispatch(name, source, ["store": .null], payload, mayBeRefused)
        }
        if step.count == 1, let member = step.members.first, index(of: member.key, in: type) != nil,
            !Self.stepMembers.contains(where: { UTF8Order.equal($0, member.key) })
        {
            throw SourceError(
                "\(member.key) is an action; write { action: \(member.key), payload: … }.", at: member.place)
        }
        try step.refuseMembers(besides: Self.stepMembers, of: "a dispatch")
        var delay = 0
        if let after = step["after"] {
            guard case .scalar(let value) = after.content, let length = DurationText.milliseconds(of: value),
                length <= DurationText.longest
            else { throw after.failure("after must be a length of time such as 500ms, 30s, 5m or 1h30m.") }
            delay = length
        }
        guard let action = step["action"] else {
            guard step["after"] != nil, step.count == 1 else {
                throw SourceError("A dispatch needs a member action; add it.", at: step.place)
            }
            return .init(place: step.place, delay: delay)
        }
        if let payload, step["payload"] != nil {
            throw payload.failure("The payload stands in dispatch too; keep one of them.")
        }
        var target: JSONObject = ["store": .null]
        if let type = step["type"] { target = ["type": .string(try type.string("type"))] }
        if let store = step["store"] { target["store"] = .string(try store.string("store")) }
        var result = try dispatch(
            try action.string("action"), action, target, step["payload"] ?? payload, mayBeRefused)
        result.delay = delay
        return result
    }

    /// A dispatch to the tested store, where `target` has a store that is null, or to another one or to a type.
    private func dispatch(
        _ action: String, _ source: LocatedValue, _ target: JSONObject, _ payload: LocatedValue?,
        _ mayBeRefused: Bool
    ) throws(SourceError) -> TypeTest.Step {
        let given = try payload?.object("payload").json ?? [:]
        if view != nil, target["store"] == .null {
            throw source.failure(
                "A view has no actions; say where this one goes: { action: \(action), store: TYPE/NAME }.")
        }
        let name = (target["store"] ?? target["type"])?.string?.prefix { $0 != "/" }
        if let type = name.map({ types[String($0)] }) ?? type {
            guard let index = index(of: action, in: type) else {
                throw source.failure(
                    "\(type.name) has no action \(action); \(suggestion(for: action, among: type.actionNames))"
                )
            }
            do throws(PayloadFailure) {
                if !mayBeRefused { _ = try type.accept(given, for: index) }
            } catch {
                throw SourceError(error.message, at: payload?.place ?? source.place)
            }
        } else if let name, name != "*" {
            throw source.failure(
                "There is no type \(name); \(suggestion(for: String(name), among: types.keys.sorted()))")
        }
        var request = target
        request["op"] = "dispatch"
        request["action"] = .string(action)
        if !given.isEmpty { request["payload"] = .object(given) }
        return .init(place: source.place, action: action, request: request)
    }

    private func index(of action: String, in type: any StateType) -> Int? {
        type.actionNames.firstIndex { UTF8Order.equal($0, action) }
    }
}
