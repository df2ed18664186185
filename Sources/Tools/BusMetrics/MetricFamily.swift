import BusJSON

/// Values that belong together under one name, as OpenMetrics has them.
package struct MetricFamily: Sendable {
    package enum Kind: String, Sendable { case gauge, counter, histogram, info }

    /// The name, without the suffixes of its samples, and with its unit at the end where it has one.
    package let name: String
    package let kind: Kind
    package let unit: String?
    /// What it tells, in one sentence.
    package let help: String
    /// Its values in a reply to `stats`; none where that has none.
    let samples: @Sendable (JSONObject) -> [MetricSample]

    init(
        _ name: String, _ kind: Kind, unit: String? = nil, _ help: String,
        _ samples: @escaping @Sendable (JSONObject) -> [MetricSample]
    ) {
        self.name = "fluxbus_" + name + (unit.map { "_" + $0 } ?? "")
        self.kind = kind
        self.unit = unit
        self.help = help
        self.samples = samples
    }

    /// One number, found by its path.
    static func number(
        _ name: String, _ kind: Kind = .gauge, unit: String? = nil, of path: String, scale: Double = 1,
        _ help: String
    ) -> MetricFamily {
        MetricFamily(name, kind, unit: unit, help) { stats in
            value(at: path, in: stats)?.double.map { [MetricSample(value: $0 * scale)] } ?? []
        }
    }

    /// One number for each member of an object, found by its path.
    static func numbers(
        _ name: String, _ kind: Kind, unit: String? = nil, of path: String, label: String, _ help: String
    ) -> MetricFamily {
        MetricFamily(name, kind, unit: unit, help) { stats in
            (value(at: path, in: stats)?.object?.members.map { $0 } ?? []).compactMap { member in
                member.value.double.map { MetricSample(labels: [(label, member.key)], value: $0) }
            }
        }
    }

    static func histogram(
        _ name: String, unit: String? = nil, of member: String, _ help: String
    ) -> MetricFamily {
        MetricFamily(name, .histogram, unit: unit, help) { stats in
            guard let histogram = stats["histograms"]?[member]?.object else { return [] }
            return MetricSample.histogram(histogram, isTime: unit == "seconds")
        }
    }

    /// One number for each user who has anything.
    static func ofUsers(
        _ name: String, _ kind: Kind = .gauge, unit: String? = nil, of member: String, scale: Double = 1,
        _ help: String
    ) -> MetricFamily {
        MetricFamily("user_" + name, kind, unit: unit, help) { stats in
            (stats["users"]?.array ?? []).compactMap { user in
                guard let number = user[member]?.double else { return nil }
                return MetricSample(labels: [("user", userName(user))], value: number * scale)
            }
        }
    }

    /// `uid:1000`, `uid:1000@kitchen` of another member, `token:phone`, `certificate:CN=pump`.
    private static func userName(_ user: JSON) -> String {
        if let uid = user["uid"]?.int {
            return "uid:\(uid)" + (user["member"]?.string.map { "@" + $0 } ?? "")
        }
        if let token = user["token"]?.string { return "token:" + token }
        return "certificate:" + (user["certificate"]?.string ?? "")
    }

    /// The value at a path of names with dots between them.
    static func value(at path: String, in stats: JSONObject) -> JSON? {
        path.split(separator: ".").reduce(.object(stats)) { $0?[String($1)] }
    }
}

extension MetricFamily {
    /// All there are, in the order in which they are written.
    package static let all: [MetricFamily] = bus + memory + log + totals + times + users + cluster + effects

    private static let bus: [MetricFamily] = [
        MetricFamily("build", .info, "The version of fluxbusd.") { stats in
            stats["version"]?.string.map { [MetricSample(labels: [("version", $0)], value: 1)] } ?? []
        },
        MetricFamily("history", .info, "The epoch of the bus: revisions compare within one only.") { stats in
            stats["epoch"]?.string.map { [MetricSample(labels: [("epoch", $0)], value: 1)] } ?? []
        },
        number("uptime", unit: "seconds", of: "uptime", "How long the daemon has been running."),
        number("revision", of: "revision", "The revision of the newest commit."),
        number("types", of: "types", "State types that the bus knows."),
        number("stores", of: "stores", "Stores that exist."),
        number("stores_limit", of: "limits.stores", "How many stores there can be."),
        number("connections", of: "connections", "Clients that are connected."),
        number("connections_limit", of: "limits.connections", "How many clients can be connected."),
        number("subscriptions", of: "subscriptions", "Subscriptions of all clients."),
        number(
            "subscriptions_limit", of: "limits.subscriptions", "How many subscriptions all clients can have."),
        number("subscription_shapes", of: "shapes", "Different subscriptions: alike ones share their work."),
        number(
            "subscription_shapes_limit", of: "limits.shapes", "How many different subscriptions there can be."
        ),
        number("timers", of: "timers", "Dispatches that wait for their time."),
        number("timers_limit", of: "limits.timers", "How many dispatches can wait for their time."),
        number("leases", of: "leases", "Stores that are dropped unless they are dispatched to in time."),
        number("remembered_keys", of: "rememberedKeys", "Keys of requests that would be recognised again."),
        number(
            "next_timer_timestamp", unit: "seconds", of: "nextDue",
            "When the next timer is due, in seconds since 1970; absent while there is none."),
    ]

    private static let memory: [MetricFamily] = [
        number(
            "resident_memory", unit: "bytes", of: "residentMemory",
            "Memory of the daemon's process, as the kernel counts it."),
        number(
            "accounted_memory", unit: "bytes", of: "accountedMemory",
            "What the bus holds for its clients and counts against its memory limit."),
        number(
            "accounted_memory_limit", unit: "bytes", of: "limits.memory",
            "The memory limit. Above it, requests that need more memory are refused."),
        numbers(
            "memory", .gauge, unit: "bytes", of: "memory", label: "part",
            "What of the accounted memory is for what."),
        number("states", unit: "bytes", of: "stateBytes", "All states, as JSON."),
        number("outboxes", unit: "bytes", of: "outboxBytes", "Output that clients have not taken yet."),
        number(
            "outboxes_limit", unit: "bytes", of: "limits.outboxes", "How much output clients can leave there."
        ),
    ]

    private static let log: [MetricFamily] = [
        MetricFamily("log", .info, "How the action log is synced.") { stats in
            stats["log"]?["sync"]?.string.map { [MetricSample(labels: [("sync", $0)], value: 1)] } ?? []
        },
        number("log", unit: "bytes", of: "log.bytes", "The size of the action log's files."),
        number(
            "log_written_revision", of: "log.durable",
            "The newest revision that is in the log; answers and events wait for it."),
        number("log_snapshot_revision", of: "log.snapshot", "The revision of the newest snapshot."),
    ]

    private static let totals: [MetricFamily] = [
        number(
            "connections_opened", .counter, of: "totals.connections", "Connections since the start."),
        number("requests", .counter, of: "totals.requests", "Requests since the start, refused ones too."),
        number("commits", .counter, of: "totals.commits", "Commits since the start."),
        number("dispatches", .counter, of: "totals.dispatches", "Dispatches since the start."),
        number(
            "duplicates", .counter, of: "totals.duplicates",
            "Requests that were recognised by their key and not committed again."),
        number("events", .counter, of: "totals.events", "Changes and actions told to subscribers."),
        number(
            "coalesced_events", .counter, of: "totals.coalesced",
            "Commits whose changes were merged into one event for a slow reader."),
        number("bookmarks", .counter, of: "totals.bookmarks", "Bookmarks sent to subscribers."),
        number(
            "slow_consumers", .counter, of: "totals.slowConsumers",
            "Clients that were disconnected because they did not read."),
        number("received", .counter, unit: "bytes", of: "totals.bytesIn", "Bytes from clients."),
        number("sent", .counter, unit: "bytes", of: "totals.bytesOut", "Bytes to clients."),
        number(
            "work", .counter, unit: "seconds", of: "totals.work", scale: 1e-9,
            "The work done for clients, estimated."),
        numbers(
            "errors", .counter, of: "errors", label: "code",
            "Requests that were refused, by the code of the error."
        ),
        numbers(
            "denials", .counter, of: "denials", label: "role", "Requests that access rules refused, by role."),
        MetricFamily("actions", .counter, "Commits of each action since the start.") { stats in
            (stats["actions"]?.object?.members.map { $0 } ?? []).flatMap { type in
                (type.value.object?.members.map { $0 } ?? []).compactMap { action in
                    action.value.double.map {
                        MetricSample(labels: [("type", type.key), ("action", action.key)], value: $0)
                    }
                }
            }
        },
    ]

    private static let times: [MetricFamily] = [
        histogram(
            "turn_duration", unit: "seconds", of: "turn",
            "One turn of the daemon's loop: everything that was ready is read, committed and answered."),
        histogram(
            "commit_duration", unit: "seconds", of: "commit",
            "One request that commits, from its line to its reply; one request in 64 is measured."),
        histogram(
            "reply_duration", unit: "seconds", of: "reply",
            "From reading a request until its reply is written to the socket, log included; one at a time is measured."
        ),
        histogram(
            "log_write_duration", unit: "seconds", of: "logWrite",
            "Writing a group of commits to the log, with its sync where the log syncs always."),
        histogram(
            "log_sync_duration", unit: "seconds", of: "fsync",
            "A sync of the log where it syncs at intervals."),
        histogram("log_group_commits", of: "group", "Commits that were written to the log together."),
    ]

    private static let users: [MetricFamily] = [
        ofUsers("connections", of: "connections", "Connections of a user."),
        ofUsers("subscriptions", of: "subscriptions", "Subscriptions of a user."),
        ofUsers("stores", of: "stores", "Stores that a user has created."),
        ofUsers("timers", of: "timers", "Timers that a user has set."),
        ofUsers(
            "work", .counter, unit: "seconds", of: "work", scale: 1e-9, "The work done for a user, estimated."
        ),
    ]
}
