import BusJSON

/// What beside the daemon makes a bus: the members that share it, and the effects that follow from it.
extension MetricFamily {
    static let cluster: [MetricFamily] = [
        MetricFamily(
            "cluster_attached", .gauge, "Whether this member reaches the log that the members share: 1 or 0."
        ) { stats in
            ofThisMember(stats) { $0["attached"]?.bool }
        },
        MetricFamily(
            "cluster_suspended", .gauge,
            "Whether this member commits nothing because its copy can't be written: 1 or 0."
        ) { stats in
            ofThisMember(stats) { $0["attached"] == nil ? nil : $0["suspended"] != nil }
        },
        MetricFamily("cluster_members", .gauge, "Members of a shared bus that are present.") { stats in
            (stats["cluster"]?["members"]?.array).map { [MetricSample(value: Double($0.count))] } ?? []
        },
        MetricFamily("cluster_log", .gauge, unit: "bytes", "What the log that the members share holds.") {
            stats in
            guard let cluster = stats["cluster"], let bytes = cluster["logBytes"]?.double else { return [] }
            return [MetricSample(labels: [("bus", cluster["bus"]?.string ?? "")], value: bytes)]
        },
        ofMembers("behind", "Revisions that a member is behind this one."),
        ofMembers(
            "agrees", "Whether a member has made of the shared log what the others have made of it: 1 or 0."),
    ]

    static let effects: [MetricFamily] = [
        ofEffects("owned", "Whether a service handles an effect: 1 or 0.") { state in
            state["owner"]?.string.map { $0.isEmpty ? 0 : 1 }
        },
        ofEffects("paused", "Whether an effect handles nothing until it is resumed: 1 or 0.") { state in
            state["paused"].map { $0.isNull ? 0 : 1 }
        },
        ofEffects("running", "Events of an effect that are being handled.", "running"),
        ofEffects("waiting", "Events of an effect that were read and wait.", "waiting"),
        ofEffects("done_revision", "The revision up to which every event of an effect is settled.", "done"),
        ofEffects("handled", "Events that an effect has handled.", "succeeded", .counter),
        ofEffects("retries", "Attempts of an effect that failed and were tried again.", "retried", .counter),
        ofEffects("failures", "Events of an effect that were set aside.", "failures", .counter),
        ofEffects("skipped", "Events that an effect has left out after a downtime.", "skipped", .counter),
    ]

    private static func ofThisMember(_ stats: JSONObject, _ value: (JSONObject) -> Bool?) -> [MetricSample] {
        guard let cluster = stats["cluster"]?.object, let value = value(cluster) else { return [] }
        let labels = [("bus", cluster["bus"]?.string ?? ""), ("member", cluster["member"]?.string ?? "")]
        return [MetricSample(labels: labels, value: value ? 1 : 0)]
    }

    /// A number, or 1 or 0, of each member that has shown it.
    private static func ofMembers(_ member: String, _ help: String) -> MetricFamily {
        MetricFamily("cluster_member_" + member, .gauge, help) { stats in
            (stats["cluster"]?["members"]?.array ?? []).compactMap { element in
                guard let name = element["name"]?.string,
                    let value = element[member]?.double ?? element[member]?.bool.map({ $0 ? 1 : 0 })
                else { return nil }
                return MetricSample(labels: [("member", name)], value: value)
            }
        }
    }

    private static func ofEffects(
        _ name: String, _ help: String, _ member: String, _ kind: Kind = .gauge
    ) -> MetricFamily {
        ofEffects(name, help, kind) { $0[member]?.double }
    }

    /// - Parameter value: Of the state of an effect; nil where that is the state of something else.
    private static func ofEffects(
        _ name: String, _ help: String, _ kind: Kind = .gauge, value: @escaping @Sendable (JSON) -> Double?
    ) -> MetricFamily {
        MetricFamily("effect_" + name, kind, help) { stats in
            (stats["effects"]?.object?.members.map { $0 } ?? []).compactMap { store in
                value(store.value).map {
                    MetricSample(
                        labels: [("effect", String(store.key.drop { $0 != "/" }.dropFirst()))], value: $0)
                }
            }
        }
    }
}
