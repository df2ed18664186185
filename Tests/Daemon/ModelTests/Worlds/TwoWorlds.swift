import BusJSON
import TestSupport

/// Two buses with the same rules and the same guest, which differ only in what that guest may not see.
///
/// What an operator does where the guest can't look differs: other stores, other values, another number of changes. It takes
/// as many commits in both, as the revision counts all of them. Every byte that the guest gets must be equal.
final class TwoWorlds {
    enum Step {
        /// A line of a guest's connection.
        case guest(Int, String)
        /// What an operator does in each of the worlds, one commit in both.
        case hidden(String, String)
        /// What an operator does in both.
        case open(String)
        case connect(Int)
        case close(Int)
        case reading(Int, Bool)
        case advance(Int)
        case handOver
    }

    struct Leak: Error, CustomStringConvertible {
        let subject: String
        let one: [String]
        let other: [String]
        var description: String {
            "\(subject)\n  one:   \(one.joined(separator: "\n         "))\n  other: \(other.joined(separator: "\n         "))"
        }
    }
    /// The worlds are not comparable any more: what was to be hidden was refused in one of them.
    struct Apart: Error {}

    private let worlds: [MemoryBus]
    private let operators: [MemoryClient]
    private var guests: [Int: [MemoryClient]] = [:]
    private(set) var transcript: [String] = []
    private(set) var requests = 0
    private(set) var revision = 0
    var epoch: String { worlds[0].epoch }
    var now: Int { worlds[0].now }
    var connected: Set<Int> { Set(guests.keys) }

    static let stores = ["a/v1", "b/v1", "a/h0", "z/h0"]

    private static func type(_ name: String) -> String {
        """
        type: \(name)
        initial: { count: 0, text: "", secret: null, deep: { one: 1, two: 2 } }
        computed:
          twice: { "+": [{ var: count }, { var: count }] }
          shadow: { var: secret }
        actions:
          add: { payload: { by: { type: integer, default: 1 } }, increment: { count: { var: payload.by } } }
          put: { payload: { text: string }, set: { text: { var: payload.text }, deep.one: { cat: [{ var: payload.text }, 1] } } }
          hide: { payload: { value: any }, set: { secret: { var: payload.value }, deep.two: { var: payload.value } } }
          tick: { timers: { tock: { in: 5s, action: add } } }
          ring: {}
        """
    }

    init(_ rules: RandomRules, outbox: Int) throws {
        worlds = try (0..<2).map { _ in
            var setup = MemoryBus.Setup()
            setup.definitions = ["a", "b", "z"].map(Self.type)
            setup.stores = Self.stores
            setup.access = rules.yaml
            setup.log = MemoryLog()
            setup.limits.daemon.outbox = outbox
            return try MemoryBus(setup)
        }
        operators = worlds.map { $0.connect(uid: 0) }
        try settle()
    }

    func run(_ step: Step) throws {
        switch step {
        case .guest(let number, let line):
            guard let clients = guests[number] else { return }
            requests += 1
            transcript.append("G\(number)> \(line)")
            for client in clients { client.send(line) }
        case .hidden(let one, let other):
            transcript.append("one>   \(one)\nother> \(other)")
            operators[0].send(one)
            operators[1].send(other)
        case .open(let line):
            transcript.append("both>  \(line)")
            for client in operators { client.send(line) }
        case .connect(let number):
            guard guests[number] == nil else { return }
            transcript.append("G\(number)! connect")
            guests[number] = worlds.map { $0.connect(uid: RandomRules.guest) }
        case .close(let number):
            transcript.append("G\(number)! close")
            for client in guests.removeValue(forKey: number) ?? [] { client.close() }
        case .reading(let number, let isReading):
            transcript.append("G\(number)! \(isReading ? "reads" : "reads nothing")")
            for client in guests[number] ?? [] { client.isReading = isReading }
        case .advance(let milliseconds):
            transcript.append("bus! \(milliseconds) ms later")
            for world in worlds { world.advance(milliseconds: milliseconds) }
        case .handOver:
            transcript.append("bus! hand over")
            for world in worlds { try world.restart() }
        }
        try settle()
        try compare(step)
    }

    /// The operators' answers say whether the worlds are as far.
    private func settle() throws {
        let revisions = try operators.map { client in
            try client.ask(#"{"op":"sync"}"#).last?["revision"]?.int
        }
        guard revisions[0] == revisions[1], let revision = revisions[0] else { throw Apart() }
        self.revision = revision
    }

    private func compare(_ step: Step) throws {
        for number in guests.keys.sorted() {
            let lines = guests[number]!.map { client in
                var lines: [String] = []
                while let line = client.nextLine() { lines.append(line) }
                return lines
            }
            for line in lines[0] { transcript.append("G\(number)< \(line)") }
            guard lines[0] == lines[1] else {
                throw Leak(subject: Self.subject(lines, step), one: lines[0], other: lines[1])
            }
        }
    }

    /// What kind of line differs.
    private static func subject(_ lines: [[String]], _ step: Step) -> String {
        let pairs = zip(lines[0] + [""], lines[1] + [""])
        let (one, other) = pairs.first { $0 != $1 } ?? ("", "")
        let (left, right) = ((try? JSON(parsing: one)) ?? .null, (try? JSON(parsing: other)) ?? .null)
        let names = Set((left.object?.keys ?? []) + (right.object?.keys ?? [])).filter {
            left[$0] != right[$0]
        }
        var what = left["event"]?.string ?? right["event"]?.string ?? "reply"
        if case .guest(_, let line) = step, let op = (try? JSON(parsing: line))?["op"]?.string {
            what += " at \(op)"
        }
        return "\(what): \(names.sorted().joined(separator: ", "))"
    }
}
