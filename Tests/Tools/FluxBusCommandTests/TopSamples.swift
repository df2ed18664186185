import BusJSON
import FluxBusCommand

/// What a bus says at two moments, for `top`.
enum TopSamples {
    static func histogram(_ buckets: [(Double, Int)]) -> JSON {
        [
            "count": .int(buckets.reduce(0) { $0 + $1.1 }), "sum": 1, "max": .double(buckets.last?.0 ?? 0),
            "p50": 0,
            "p90": 0, "p99": 0, "p999": 0,
            "buckets": .array(buckets.map { [.double($0.0), .int($0.1)] }),
        ]
    }

    static func client(_ id: Int, dispatched: Int, delivered: Int, name: String = "panel") -> JSON {
        [
            "id": .int(id), "by": ["uid": 1000, "pid": .int(4000 + id)], "client": .string(name),
            "address": "unix",
            "since": 1, "idle": 0.5, "subscriptions": 1, "lagging": 0, "watches": ["counter/*"], "waiting": 0,
            "held": 0, "dispatched": .int(dispatched), "delivered": .int(delivered),
        ]
    }

    private static func stats(
        revision: Int, uptime: Double, requests: Int, counter: Int, door: Int, log: Int, turn: [(Double, Int)]
    ) -> JSONObject {
        [
            "revision": .int(revision), "epoch": "e1", "version": "0.1.0", "uptime": .double(uptime),
            "types": 2,
            "stores": 3, "connections": 2, "subscriptions": 1, "timers": 0, "residentMemory": 34_603_008,
            "memory": ["states": 2048, "outboxes": 0], "log": ["bytes": .int(log), "sync": "always"],
            "totals": [
                "requests": .int(requests), "dispatches": .int(revision), "events": .int(2 * revision),
                "bytesIn": .int(1024 * revision), "bytesOut": 0,
            ],
            "errors": ["rejected": .int(revision / 100)],
            "actions": ["counter": ["increment": .int(counter), "reset": 1], "door": ["rang": .int(door)]],
            "histograms": [
                "turn": histogram(turn), "commit": histogram([]), "fsync": histogram([(0.004, 10)]),
                "reply": histogram([]), "logWrite": histogram([]),
            ],
        ]
    }

    static let earlier = TopSample(
        time: 10,
        stats: stats(
            revision: 100, uptime: 60, requests: 500, counter: 50, door: 20, log: 1_048_576,
            turn: [(0.001, 99), (0.5, 1)]),
        clients: [client(1, dispatched: 10, delivered: 100)])

    /// Two seconds later.
    static let later = TopSample(
        time: 12,
        stats: stats(
            revision: 300, uptime: 62, requests: 700, counter: 60, door: 120, log: 1_050_624,
            turn: [(0.001, 109), (0.002, 10), (0.5, 1)]),
        clients: [
            client(1, dispatched: 10, delivered: 500), client(2, dispatched: 8, delivered: 0, name: "new"),
        ])

    /// The bus after a restart.
    static let restarted = TopSample(
        time: 14,
        stats: stats(revision: 301, uptime: 1, requests: 2, counter: 1, door: 0, log: 1_050_624, turn: []),
        clients: [])
}
