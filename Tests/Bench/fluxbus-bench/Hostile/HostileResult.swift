import BusJSON

/// The effect of one form of one attack on the innocent client and on the daemon.
struct HostileResult {
    let attack: Attack
    let connections: Int
    let seconds: Double
    let limit: Int
    let innocent: InnocentTally
    let hostile: AttackForce.Tally
    /// Why the daemon ended too early, if it did.
    var ending: String?
    var cpuShare: Double?
    var residentBefore: Int?
    var peak: Int?
    var residentAfter: Int?
    /// The longest time between two beats of the watchdog, in nanoseconds.
    var beatDistance: UInt64 = 0
    /// The 99th percentile beside a well-behaved client with as much to do, in milliseconds; nil where it was not measured.
    var busyLatency: Double?

    /// What the innocent client saw of a bus of this kind that nobody attacked, in milliseconds; nil where that is what this is.
    var idle: (latest: Double, silence: Double)?

    /// How many times as late the 99th percentile is as beside a busy client.
    private var busyRatio: Double? { busyLatency.map { milliseconds(0.99) / $0 } }

    func milliseconds(_ share: Double) -> Double {
        innocent.replyTimes.microseconds(atShare: share) / 1000
    }
    private var longest: Double { Double(innocent.replyTimes.longest) / 1e6 }
    private var silence: Double { Double(innocent.silence) / 1e6 }
    private var deliverySilence: Double { Double(innocent.deliverySilence) / 1e6 }
    /// The longest silence of either.
    var longestSilence: Double { max(silence, deliverySilence) }

    /// Values beyond their bounds; empty when the attack did no harm.
    var faults: [String] {
        var faults: [String] = []
        func fault(_ isOne: Bool, _ text: @autoclosure () -> String) { if isOne { faults.append(text()) } }
        if let ending { faults.append(ending) }
        let latest = HostileBars.latest(beside: connections)
        if let ratio = busyRatio {
            fault(
                ratio > HostileBars.besideBusy,
                "\(Figure.decimal(ratio, 2)) times as late as beside a busy client")
        }
        fault(milliseconds(0.99) > latest, "p99 above \(Figure.decimal(latest, 0)) ms")
        fault(
            silence >= HostileBars.silence, "silent for \(Figure.decimal(silence, 0)) ms")
        fault(
            deliverySilence >= HostileBars.silence,
            "the subscriber heard nothing for \(Figure.decimal(deliverySilence, 0)) ms")
        fault(innocent.failureCount > 0, "failed: \(innocent.failureText)")
        fault(
            (peak ?? 0) > HostileBars.peak(limit: limit),
            "memory above \(Self.megabytes(HostileBars.peak(limit: limit)))")
        let before = residentBefore ?? 0
        if let residentAfter {
            let kept = residentAfter - before
            fault(kept > HostileBars.ownBytes + attack.keeps, "kept \(Self.megabytes(kept))")
        }
        fault(
            beatDistance > BeatEar.interval,
            "no beat for \(Figure.decimal(Double(beatDistance) / 1e9, 1)) s")
        fault(attack.isWellBehaved && hostile.cutOff > 0, "\(hostile.cutOff) readers cut off")
        fault(!hasExpectedOutcome, "the attack met with \(hostile.firstRefusal ?? "no refusal")")
        return faults
    }

    private var hasExpectedOutcome: Bool {
        let (replies, refusals) = (hostile.replies, hostile.refusals)
        return switch attack.outcome {
        case .success: refusals * 100 <= replies * HostileBars.refused
        case .refusal: refusals > 0 && refusals == replies
        case .successUntilFull: refusals < replies
        case .either: replies > 0
        }
    }

    // MARK: - For people

    static let head = [
        "attack", "conns", "p50 ms", "p99 ms", "idle p99", "max ms", "silence ms", "idle silence", "failed",
        "CPU", "peak MB", "after MB",
        "beat s", "of busy", "verdict",
    ]

    var row: [String] {
        [
            attack.name, String(connections), Figure.decimal(milliseconds(0.5), 2),
            Figure.decimal(milliseconds(0.99), 2), idle.map { Figure.decimal($0.latest, 2) } ?? "",
            Figure.decimal(longest, 1), Figure.decimal(longestSilence, 1),
            idle.map { Figure.decimal($0.silence, 1) } ?? "", String(innocent.failureCount),
            cpuShare.map(Figure.percent) ?? "?", peak.map { Figure.decimal(Double($0) / 1e6, 0) } ?? "?",
            residentAfter.map { Figure.decimal(Double($0 - (residentBefore ?? 0)) / 1e6, 0) } ?? "?",
            Figure.decimal(Double(beatDistance) / 1e9, 2),
            busyRatio.map { Figure.decimal($0, 2) } ?? "",
            faults.isEmpty ? "pass" : "FAIL: " + faults.joined(separator: "; "),
        ]
    }

    /// One line, while the others are still to come.
    var text: String { row.joined(separator: "  ") }

    private static func megabytes(_ bytes: Int) -> String { Figure.decimal(Double(bytes) / 1e6, 0) + " MB" }

    // MARK: - For programs

    var json: JSON {
        var object: JSONObject = [
            "scenario": "hostile", "attack": .string(attack.name), "connections": .int(connections),
            "ok": .bool(faults.isEmpty), "faults": .array(faults.map(JSON.string)),
            "seconds": Self.number(seconds), "requests": .int(innocent.requests),
            "replyMilliseconds": Self.json(innocent.replyTimes),
            "deliveryMilliseconds": Self.json(innocent.deliveryTimes),
            "silenceMilliseconds": Self.number(silence),
            "deliverySilenceMilliseconds": Self.number(deliverySilence),
            "failed": .int(innocent.failureCount), "memoryLimit": .int(limit),
            "beatDistanceSeconds": Self.number(Double(beatDistance) / 1e9),
            "hostileBytes": .int(hostile.bytes), "hostileLines": .int(hostile.lines),
            "hostileConnections": .int(hostile.connections), "hostileCutOff": .int(hostile.cutOff),
        ]
        var failures = JSONObject()
        for (reason, count) in innocent.failures.sorted(by: { $0.key < $1.key }) {
            failures[reason] = .int(count)
        }
        object["failures"] = .object(failures)
        object["hostileReplies"] = .int(hostile.replies)
        object["hostileRefusals"] = .int(hostile.refusals)
        object["hostileRefusal"] = hostile.firstRefusal.map(JSON.string)
        object["serverCPUShare"] = cpuShare.map(Self.number) ?? .null
        object["residentBefore"] = residentBefore.map(JSON.int) ?? .null
        object["timesBusy"] = busyRatio.map(Self.number)
        object["idleP99Milliseconds"] = idle.map { Self.number($0.latest) }
        object["idleSilenceMilliseconds"] = idle.map { Self.number($0.silence) }
        object["peakResident"] = peak.map(JSON.int) ?? .null
        object["residentAfter"] = residentAfter.map(JSON.int) ?? .null
        return .object(object)
    }

    private static func number(_ value: Double) -> JSON { .double(Figure.rounded(value)) }

    private static func json(_ histogram: Histogram) -> JSON {
        [
            "p50": number(histogram.microseconds(atShare: 0.5) / 1000),
            "p99": number(histogram.microseconds(atShare: 0.99) / 1000),
            "max": number(Double(histogram.longest) / 1e6),
        ]
    }
}

/// Bounds for an innocent client beside hostile ones, and for the resources of a bus.
enum HostileBars {
    /// How many times as late as beside a busy client of the same user, at the 99th percentile.
    static let besideBusy = 2.0
    /// The latency of the 99th percentile, in milliseconds: beside one hostile connection, and beside many.
    static func latest(beside connections: Int) -> Double { connections > 1 ? 20 : 5 }
    /// The longest silence while something was due, in milliseconds.
    static let silence = 100.0
    /// The most memory of the process: 1.25 times its memory limit, and this for itself.
    static func peak(limit: Int) -> Int { limit + limit / 4 + ownBytes }
    /// The memory it may keep afterwards beside what it holds.
    static let ownBytes = 32 << 20
    /// How many of a hundred requests may be refused in an attack that is to succeed.
    static let refused = 10
    /// How long it may take to return memory, in nanoseconds.
    static let givingBack: UInt64 = 5_000_000_000
}
