import BusJSON
import BusSource

/// One test while it runs.
struct TypeTestRun {
    private let test: TypeTest
    private var bus: TrialBus

    init(_ test: TypeTest, on bus: TrialBus) {
        self.test = test
        self.bus = bus
    }

    /// Adds what does not hold; throws what keeps the test from going on.
    mutating func run(_ failures: inout [SourceError]) throws(SourceError) {
        if !test.isOfView {
            try create(test.store, test.given?.json ?? [:], at: test.given?.place ?? test.place)
        }
        for other in test.others { try create(other.address, other.state, at: other.place) }
        let before = bus.state(of: test.store)
        let last = test.steps.lastIndex { $0.request != nil }
        var result = JSON.null
        for (index, step) in test.steps.enumerated() {
            guard bus.advance(milliseconds: step.delay) else {
                throw SourceError(
                    "Too many timers are due in this time; one sets itself again.", at: step.place)
            }
            guard let request = request(of: step) else { continue }
            let reply = bus.ask(request)
            if index == last { result = reply["result"] ?? reply["results"] ?? .null }
            try check(reply, of: step, isLast: index == last)
        }
        let after = bus.state(of: test.store)
        if let place = test.unchanged, after != before {
            failures.append(
                SourceError("The state is now \(after.map { JSON.object($0).encoded } ?? "gone").", at: place)
            )
        }
        if let expected = test.state {
            Self.compare(after.map(JSON.object), with: expected, "", &failures)
        }
        if let expected = test.result, !result.equalsNumerically(expected.json) {
            failures.append(expected.failure("It returns \(result.encoded), not \(expected.json.encoded)."))
        }
    }

    private mutating func create(_ store: String, _ state: JSONObject, at place: Place) throws(SourceError) {
        let reply = bus.ask(["op": "create", "store": .string(store), "state": .object(state)])
        if let error = reply["error"] { throw SourceError(Self.sentence(error), at: place) }
    }

    private func request(of step: TypeTest.Step) -> JSONObject? {
        guard var request = step.request else { return nil }
        if request["store"]?.isNull ?? false { request["store"] = .string(test.store) }
        return request
    }

    /// Checks that a dispatch is refused where the test says so, and only there.
    private func check(_ reply: JSON, of step: TypeTest.Step, isLast: Bool) throws(SourceError) {
        let error = reply["error"].map(Self.sentence)
        switch (test.rejection, error) {
        case (.any(let place), nil) where isLast, (.saying(_, let place), nil) where isLast:
            let state = bus.state(of: test.store).map { JSON.object($0).encoded } ?? "gone"
            throw SourceError("\(step.action) is not rejected; the state is now \(state).", at: place)
        case (.saying(let reason, let place), let error?) where isLast && !error.contains(reason):
            throw SourceError("The reason is another: \(error)", at: place)
        case (.any, _?) where isLast, (.saying, _?) where isLast: return
        case (_, let error?): throw SourceError(error, at: step.place)
        case (_, nil): return
        }
    }

    private static func sentence(_ error: JSON) -> String { error["message"]?.string ?? error.encoded }

    /// Compares what there is with what a test says of it. An object may say some of the members, and null that there is none.
    private static func compare(
        _ found: JSON?, with expected: LocatedValue, _ path: String, _ failures: inout [SourceError]
    ) {
        let name = path.isEmpty ? "The state" : path
        switch (expected.content, found) {
        case (.object(let members), .object(let object)?):
            for member in members.members {
                let inner = path.isEmpty ? member.key : "\(path).\(member.key)"
                compare(object[member.key], with: member.value, inner, &failures)
            }
        case (.array(let elements), .array(let values)?):
            guard elements.count == values.count else {
                failures.append(
                    expected.failure(
                        "\(name) has \(values.count) elements, not \(elements.count): \(found!.encoded)."))
                return
            }
            for (index, element) in elements.enumerated() {
                compare(values[index], with: element, "\(path).\(index)", &failures)
            }
        case (.scalar(.null), nil): return
        case (_, let found?):
            if found.equalsNumerically(expected.json) { return }
            failures.append(expected.failure("\(name) is \(found.encoded), not \(expected.json.encoded)."))
        case (_, nil): failures.append(expected.failure("\(name) is not there."))
        }
    }
}
