/// Large numbers of cheap things: requests, lines, connections.
extension Attack {
    static let floods = [
        Attack(
            name: "dispatches", summary: "a flood of pipelined dispatches to one store",
            setUp: HostileSetUp(stores: [.init(type: "counter")]),
            scripts: flood(#"{"op":"dispatch","store":"counter/s0","action":"increment"}"#)),
        Attack(
            name: "dispatches-unread", summary: "the same, and no reply is read",
            setUp: HostileSetUp(stores: [.init(type: "counter")]),
            scripts: flood(#"{"op":"dispatch","store":"counter/s0","action":"increment"}"#, reads: false)),
        Attack(name: "pings", summary: "a flood of pings", scripts: flood(#"{"op":"ping"}"#)),
        Attack(
            name: "syncs", summary: "a flood of sync", scripts: flood(#"{"op":"sync"}"#)),
        Attack(
            name: "stats", summary: "a flood of stats beside 10 000 stores",
            setUp: HostileSetUp(stores: [.init(type: "counter", count: 10_000)]),
            scripts: flood(#"{"op":"stats"}"#)),
        Attack(
            name: "keys", summary: "dispatches with a fresh key of 128 bytes each",
            setUp: HostileSetUp(stores: [.init(type: "counter")]),
            // The keys of 100,000 commits are remembered by contract, each with its reply.
            keeps: 96 << 20,
            scripts: each { _ in
                let key = String(repeating: "k", count: 128 - AttackLines.numberDigits)
                let line = #"{"op":"dispatch","store":"counter/s0","action":"increment","key":"\#(key)#"}"#
                let lines = AttackLines.Numbered(256, line)
                return AttackScript(piece: { lines.bytes(from: $0.number * 256) })
            }),
        Attack(
            name: "errors", summary: "a flood of lines that are not requests", outcome: .refusal,
            scripts: flood(
                """
                {"op":"ping"
                ["ping"]
                {"op":"pong"}
                {"op":"dispatch","store":"nowhere","action":"x"}
                {"op":"dispatch","store":"counter/absent","action":"increment","payload":{"by":"x"}}
                \u{01}
                """)),
        Attack(
            name: "long-lines", summary: "lines of nearly 1 MiB, parsed and refused",
            setUp: HostileSetUp(stores: [.init(type: "counter")]), outcome: .refusal,
            scripts: each { _ in
                let numbers = (0..<170_000).map { String($0 % 90_000 + 10_000) }.joined(separator: ",")
                let line = AttackLines.line(
                    #"{"op":"dispatch","store":"counter/s0","action":"increment","payload":{"by":[\#(numbers)]}}"#
                )
                return AttackScript(piece: { _ in line })
            }),
        Attack(
            name: "huge-ids", summary: "pings with an id of 900 kB, which is sent back",
            scripts: each { _ in
                let line = AttackLines.line(
                    #"{"op":"ping","id":"\#(String(repeating: "i", count: 900_000))"}"#)
                return AttackScript(piece: { _ in line })
            }),
        Attack(
            name: "slow-lines", summary: "requests that come a byte at a time, one each millisecond",
            scripts: each { _ in
                let line = AttackLines.line(#"{"op":"ping"}"#)
                return AttackScript(piece: { [line[$0.own % line.count]] }, pace: .every(1))
            }),
        Attack(
            name: "unfinished-lines", summary: "lines of nearly 1 MiB whose end never comes",
            forms: [1, 50, 400],
            scripts: each { _ in
                let start = Array(#"{"op":"ping","client":""#.utf8)
                let line = start + [UInt8](repeating: UInt8(ascii: "u"), count: (1 << 20) - 64)
                return AttackScript(opening: { _ in line })
            }),
        Attack(
            name: "churn", summary: "connections that ping once and go",
            scripts: each { _ in
                let line = AttackLines.line(#"{"op":"ping"}"#)
                return AttackScript(opening: { _ in line }, leaving: .whenAnswered(lines: 1))
            }),
        Attack(
            name: "churn-unanswered", summary: "connections that send 64 kB of pings and go unanswered",
            scripts: each { _ in
                let lines = AttackLines.piece(#"{"op":"ping"}"#)
                return AttackScript(opening: { _ in lines }, reads: false, leaving: .whenSent)
            }),
    ]

    static func flood(
        _ line: String, reads: Bool = true
    ) -> @Sendable (Int, HostileWorld) -> [AttackScript] {
        each { _ in
            let piece = AttackLines.piece(line)
            return AttackScript(piece: { _ in piece }, reads: reads)
        }
    }
}
