import Foundation

/// Actions that flow while the service of effects is killed again and again, and what has to have come of them: each dispatch is
/// committed exactly once, each program is started at least once and in the order of its store.
///
/// `FLUXBUS_EFFECT_KILLS=50 FLUXBUS_EFFECT_ACTIONS=10000` takes longer.
package struct EffectStorm: Sendable {
    /// A type whose stores tell what they were told.
    package static let type = """
        type: log
        initial: { notes: [], shut: false }
        actions:
          note:
            payload: { number: integer }
            require: [{ if: "!state.shut", else: it is shut }]
            append: { notes: = payload.number }
          shut: { payload: { shut: boolean }, set: { shut: = payload.shut } }
          echo: { payload: { text: { type: string, default: "" }, number: { type: integer, default: 0 } } }
        """

    package let kills: Int
    package let actions: Int

    package init() {
        func number(_ name: String, _ usual: Int) -> Int {
            ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? usual
        }
        kills = number("FLUXBUS_EFFECT_KILLS", 4)
        actions = number("FLUXBUS_EFFECT_ACTIONS", 400)
    }

    /// Files of effects by their names, without the name of the effect. Programs write to `$OUT`, or to the service's directory.
    package let effects = [
        "note":
            "on: { action: echo, of: log/* }\ndo: { dispatch: { store: log/main, action: note, payload: { number: = payload.number } } }\nlimit: { running: 16 }",
        "write":
            "on: { action: echo, of: log/* }\ndo: { run: [/bin/sh, -c, 'echo $1 >> \"${OUT:-$STATE_DIRECTORY}/$2\"', sh, = payload.number, = name] }\nlimit: { running: 16 }",
    ]

    /// Dispatches all actions, to `log/a` and `log/b` by turns, and has the service killed in the middle of it: half of what follows
    /// happens while it is down. Returns the revision of the last one.
    ///
    /// - Parameter awaitBack: Returns once the service follows the bus again.
    package func blow(_ client: LineClient, kill: () throws -> Void, awaitBack: () throws -> Void) throws
        -> Int
    {
        let pace = max(2, actions / (kills + 1))
        var last = 0
        for number in 1...actions {
            let store = number % 2 == 0 ? "log/a" : "log/b"
            let reply = try client.ask(
                #"{"op":"dispatch","store":"\#(store)","action":"echo","payload":{"number":\#(number)}}"#)
            guard let revision = LineClient.integer("revision", in: reply) else {
                throw LineClient.Failure(reply)
            }
            last = revision
            let round = number / pace
            if number % pace == 0, round <= kills { try kill() }
            if number % pace == pace / 2, (1...kills).contains(round) { try awaitBack() }
        }
        return last
    }

    /// What is wrong with what came of them.
    ///
    /// - Parameters:
    ///   - notes: What was dispatched to `log/main`.
    ///   - lines: What programs wrote for a store.
    package func problems(notes: [Int], lines: (String) throws -> [String]) rethrows -> [String] {
        var problems: [String] = []
        if notes.sorted() != Array(1...actions) {
            let counts = Dictionary(notes.map { ($0, 1) }, uniquingKeysWith: +)
            let wrong = (1...actions).filter { counts[$0] != 1 }
            problems.append("\(notes.count) dispatches for \(actions) actions, wrong are \(wrong.prefix(20))")
        }
        for (store, rest) in [("a", 0), ("b", 1)] {
            var seen: Set<Int> = []
            let first = try lines(store).compactMap { Int($0) }.filter { seen.insert($0).inserted }
            let wanted = (1...actions).filter { $0 % 2 == rest }
            if first != wanted {
                let missing = Set(wanted).subtracting(first).sorted().prefix(20)
                problems.append(
                    "log/\(store): \(first.count) of \(wanted.count) programs, missing are \(missing), or the order is wrong"
                )
            }
        }
        return problems
    }
}
