import BusEngine
import BusJSON
import BusMachine
import TestModes
import TestSupport
import Testing

/// Random actions, reloads, migrations, reverts and restarts, against what the pages say of members in so many words: a
/// model of a few lines.
@Suite(.inBothModes)
struct MemberModelTests {
    /// A definition, as far as it matters: what `initial` has, and the version.
    private struct Definition {
        var initial: [String: Int] = [:]
        var version = 1
        /// By the version that they start from: the members that a step sets, if `to` is something, or takes away.
        var steps: [Int: [(name: String, to: Int?)]] = [:]

        var text: String {
            var lines = ["type: thing"]
            if version > 1 { lines.append("version: \(version)") }
            let members = initial.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
            lines.append("initial: { \(members.joined(separator: ", ")) }")
            lines.append("actions:")
            lines.append(
                #"  put: { payload: { k: string, v: integer }, set: { "{payload.k}": { var: payload.v } } }"#)
            lines.append(#"  take: { payload: { k: string }, unset: ["{payload.k}"] }"#)
            if version > 1 { lines.append("migrate:") }
            for from in 1..<max(version, 1) {
                // What a step takes away it sets before, as only some stores have it.
                let step = steps[from] ?? []
                let sets = step.map { "'{\"\($0.name)\"}': \($0.to ?? 0)" }.joined(separator: ", ")
                let unsets = step.filter { $0.to == nil }.map { "'{\"\($0.name)\"}'" }.joined(separator: ", ")
                lines.append("  \(from): { set: { \(sets) }, unset: [\(unsets)] }")
            }
            return lines.joined(separator: "\n")
        }

        /// A state of another definition under this one; nil where it does not fit.
        func adopting(_ state: [String: Int], of other: Definition) -> [String: Int]? {
            var next = state
            for from in other.version..<max(version, other.version) {
                for (name, to) in steps[from] ?? [] { next[name] = to }
            }
            for name in next.keys where initial[name] == nil {
                guard other.initial[name] == nil, state[name] != nil else { return nil }
            }
            for (name, value) in initial where next[name] == nil {
                let wasTakenAway = other.initial[name] != nil && state[name] == nil
                if !wasTakenAway { next[name] = value }
            }
            return next
        }
    }

    private static let names = ["a", "b.c", "d", "e", "f{"]

    @Test(arguments: Seeds.some(24 as UInt64))
    func membersAreWhatTheModelSays(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var definition = Definition(initial: ["a": 0, "d": 0])
        var bus = try MemoryBus.logging("thing/x") { $0.definitions = [definition.text] }
        var client = bus.connect(uid: 0)
        var state = definition.initial
        var past: [(revision: Int, state: [String: Int], definition: Definition)] = []

        func check(_ what: String) throws {
            let found = try client.state(of: "thing/x")?.object
            let expected = JSONObject(distinct: state.map { .init(key: $0.key, value: .int($0.value)) })
            #expect(found == expected, "seed \(seed), \(what)")
            past.append((bus.engine.revision, state, definition))
        }

        try check("at the beginning")
        for step in 0..<60 {
            let name = try #require(Self.names.randomElement(using: &generator))
            let value = Int.random(in: 0..<100, using: &generator)
            switch Int.random(in: 0..<12, using: &generator) {
            case 0..<4:
                try client.revision(
                    after:
                        #"{"op":"dispatch","store":"thing/x","action":"put","payload":{"k":"\#(name)","v":\#(value)}}"#
                )
                state[name] = value
                try check("put \(step)")
            case 4..<7:
                let code = try client.code(
                    of: #"{"op":"dispatch","store":"thing/x","action":"take","payload":{"k":"\#(name)"}}"#)
                #expect(code == (state[name] == nil ? "rejected" : nil))
                state[name] = nil
                try check("take \(step)")
            case 7..<10:
                var next = definition
                // A name with dots or braces is no fixed member of a definition here.
                if generator.oneIn(2) { next.initial[["a", "d", "e"][value % 3]] = value }
                if generator.oneIn(6) { next.initial["e"] = nil }
                if generator.oneIn(3) {
                    next.steps[next.version] =
                        generator.oneIn(2) ? [(name, generator.oneIn(2) ? value : nil)] : []
                    next.version += 1
                }
                bus.definitions = [next.text]
                let adopted = next.adopting(state, of: definition)
                let code = try client.code(of: #"{"op":"reload"}"#)
                #expect((code == nil) == (adopted != nil), "seed \(seed), reload \(step): \(code ?? "ok")")
                if code == nil, let adopted { (definition, state) = (next, adopted) }
                bus.definitions = [definition.text]
                try check("reload \(step)")
            case 10:
                let then = try #require(past.randomElement(using: &generator))
                let adopted = definition.adopting(then.state, of: then.definition)
                let code = try client.code(
                    of: #"{"op":"revert","store":"thing/x","revision":\#(then.revision)}"#)
                #expect((code == nil) == (adopted != nil), "seed \(seed), revert \(step): \(code ?? "ok")")
                if code == nil, let adopted { state = adopted }
                try check("revert \(step)")
            default:
                let digest = bus.engine.stateDigest
                #expect(try bus.isWhatTheLogSays())
                bus = try bus.crash()
                client = bus.connect(uid: 0)
                #expect(bus.engine.stateDigest == digest)
                try check("restart \(step)")
            }
        }
    }
}
