import BusJSON

/// The reply to `stats` for people, in sections; members that this version does not know come last.
struct StatisticsText {
    private let stats: JSONObject
    private let users: UserNames

    /// Actions beyond these say little about the bus.
    private static let mostActions = 20

    init(_ stats: JSONObject, users: UserNames) {
        self.stats = stats
        self.users = users
    }

    struct Section {
        let title: String
        var table: Table
    }

    var sections: [Section] {
        let all = [
            bus, section("Since the start", stats["totals"]?.object) { $0.hasPrefix("bytes") },
            latencies, memory, section("Log", stats["log"]?.object) { $0 == "bytes" }, actions, perUser,
            section("Errors", stats["errors"]?.object), section("Denials", stats["denials"]?.object),
            section("Cluster", stats["cluster"]?.object),
            section("Limits", stats["limits"]?.object) { ["memory", "outboxes"].contains($0) }, others,
        ]
        return all.filter { !$0.table.isEmpty }
    }

    // MARK: - Numbers

    private var bus: Section {
        var section = Section(title: "Bus", table: Table())
        add("version", stats["version"]?.string, to: &section)
        add("uptime", stats["uptime"]?.double.map(Quantity.time), to: &section)
        add("epoch", stats["epoch"]?.string, to: &section)
        let names = [
            "revision", "types", "stores", "timers", "leases", "connections", "subscriptions", "shapes",
            "rememberedKeys",
        ]
        for name in names { add(Self.words(name), stats[name]?.encoded, to: &section) }
        add(
            "next timer", stats["nextDue"]?.double.map { DispatchTimeArgument.text(of: .double($0)) },
            to: &section)
        return section
    }

    private var memory: Section {
        var section = Section(title: "Memory", table: Table())
        add("resident", Self.bytes(stats["residentMemory"]), to: &section)
        add("accounted", Self.bytes(stats["accountedMemory"]), to: &section)
        for member in stats["memory"]?.object ?? [:] {
            add(Self.words(member.key), Self.bytes(member.value), to: &section)
        }
        if stats["memory"] == nil {
            add("states", Self.bytes(stats["stateBytes"]), to: &section)
            add("outboxes", Self.bytes(stats["outboxBytes"]), to: &section)
        }
        return section
    }

    private func section(
        _ title: String, _ members: JSONObject?, isSize: (String) -> Bool = { _ in false }
    ) -> Section {
        var section = Section(title: title, table: Table())
        for member in members ?? [:] {
            add(
                Self.words(member.key),
                isSize(member.key) ? Self.bytes(member.value) : member.value.string ?? member.value.encoded,
                to: &section)
        }
        return section
    }

    /// Each number, however deep it is nested.
    private var others: Section {
        let known: Set = [
            "version", "uptime", "epoch", "revision", "types", "stores", "timers", "leases", "connections",
            "subscriptions", "shapes", "rememberedKeys", "nextDue", "totals", "residentMemory",
            "accountedMemory", "memory", "stateBytes", "outboxBytes", "log", "errors", "denials", "cluster",
            "histograms", "actions", "users", "limits",
        ]
        var section = Section(title: "Further", table: Table())
        func flatten(_ value: JSON, _ name: String) {
            guard let object = value.object, !object.isEmpty else {
                return add(name, value.string ?? value.encoded, to: &section)
            }
            for member in object {
                flatten(member.value, name.isEmpty ? member.key : "\(name).\(member.key)")
            }
        }
        for member in stats where !known.contains(member.key) { flatten(member.value, member.key) }
        return section
    }

    // MARK: - Tables

    private var latencies: Section {
        var section = Section(
            title: "Latencies", table: Table("", "P50", "P90", "P99", "MAX", "COUNT"))
        let order = ["turn", "commit", "logWrite", "fsync", "reply", "group"]
        let histograms = stats["histograms"]?.object ?? [:]
        let rest = histograms.map(\.key).filter { !order.contains($0) }
        for name in order + rest {
            guard let json = histograms[name], let reading = HistogramReading(json) else { continue }
            let isTime = name != "group"
            func text(_ value: Double?) -> Table.Cell {
                .init(value.map(isTime ? Quantity.time : Quantity.count) ?? "")
            }
            let isEmpty = reading.count == 0
            section.table.add(
                .init(isTime ? Self.words(name) : "commits per write", .faint),
                text(isEmpty ? nil : json["p50"]?.double), text(isEmpty ? nil : json["p90"]?.double),
                text(isEmpty ? nil : json["p99"]?.double), text(isEmpty ? nil : reading.max),
                .init(json["count"]?.encoded ?? ""))
        }
        return section
    }

    private var actions: Section {
        var section = Section(title: "Actions", table: Table("TYPE", "ACTION", "COMMITS"))
        var counts: [(type: String, action: String, count: Double)] = []
        for type in stats["actions"]?.object ?? [:] {
            for action in type.value.object ?? [:] {
                counts.append((type.key, action.key, action.value.double ?? 0))
            }
        }
        counts.sort { ($1.count, $0.type, $0.action) < ($0.count, $1.type, $1.action) }
        for (type, action, count) in counts.prefix(Self.mostActions) {
            section.table.add(.init(type, .address), .init(action), .init("\(Int(count))"))
        }
        if counts.count > Self.mostActions {
            section.table.add(.init("and \(counts.count - Self.mostActions) more", .faint))
        }
        return section
    }

    private var perUser: Section {
        let columns = ["connections", "subscriptions", "shapes", "stores", "timers", "willBytes", "work"]
        var section = Section(
            title: "Users",
            table: Table(
                "USER", "CONNECTIONS", "SUBSCRIPTIONS", "SHAPES", "STORES", "TIMERS", "WILLS", "WORK"))
        for user in stats["users"]?.array ?? [] {
            let name = user["certificate"]?.string.map { "certificate \($0)" } ?? users.identity(user)
            section.table.add(
                [.init(name)]
                    + columns.map { column in
                        .init(
                            column == "willBytes"
                                ? Self.bytes(user[column]) ?? "" : user[column]?.encoded ?? "")
                    })
        }
        return section
    }

    // MARK: - Words

    private func add(_ name: String, _ value: String?, to section: inout Section) {
        guard let value, value != "null" else { return }
        section.table.add(.init(name, .faint), .init(value))
    }

    private static func bytes(_ value: JSON?) -> String? { value?.double.map(Quantity.bytes) }

    /// `slowConsumers` as `slow consumers`.
    private static func words(_ name: String) -> String {
        name.reduce(into: "") { $0 += $1.isUppercase ? " " + $1.lowercased() : String($1) }
    }
}

/// A histogram of `stats`, or the difference between two of them.
package struct HistogramReading: Equatable, Sendable {
    package let count: Double
    package let max: Double
    /// How many values lie at or below a bound and above the one before; ascending.
    private let buckets: [Bucket]

    private struct Bucket: Equatable, Sendable {
        let bound: Double
        let count: Double
    }

    /// Nil for what is no histogram.
    package init?(_ json: JSON?) {
        guard let json, let count = json["count"]?.double, let max = json["max"]?.double else { return nil }
        self.count = count
        self.max = max
        buckets = (json["buckets"]?.array ?? []).compactMap { pair in
            guard let pair = pair.array, pair.count == 2, let bound = pair[0].double,
                let count = pair[1].double
            else { return nil }
            return Bucket(bound: bound, count: count)
        }
    }

    private init(_ buckets: [Bucket], atMost max: Double) {
        self.buckets = buckets
        count = buckets.reduce(0) { $0 + $1.count }
        self.max = min(max, buckets.last?.bound ?? 0)
    }

    /// What came since an earlier reading of the same histogram.
    package func since(_ earlier: HistogramReading) -> HistogramReading {
        let before = Dictionary(
            earlier.buckets.map { ($0.bound, $0.count) }, uniquingKeysWith: { first, _ in first })
        let news = buckets.compactMap { bucket in
            let count = bucket.count - (before[bucket.bound] ?? 0)
            return count > 0 ? Bucket(bound: bucket.bound, count: count) : nil
        }
        return HistogramReading(news, atMost: max)
    }

    /// The value that this part of all values does not exceed, as near as the buckets tell; nil where there are none.
    package func quantile(_ part: Double) -> Double? {
        let total = buckets.reduce(0) { $0 + $1.count }
        guard total > 0 else { return nil }
        var seen = 0.0
        for bucket in buckets {
            seen += bucket.count
            if seen >= part * total { return min(bucket.bound, max) }
        }
        return max
    }
}
