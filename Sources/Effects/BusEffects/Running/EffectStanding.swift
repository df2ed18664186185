import BusJSON

/// What the store of an effect says.
package struct EffectStanding: Sendable {
    package let epoch: String
    /// The service that handles it; empty: none does.
    package let owner: String
    package let done: Int
    /// The revision at which the last service ended: what came later came while none ran.
    package let left: Int
    package let isClean: Bool
    package let paused: String?
    /// Events that were set aside, with what is known of each.
    package let failed: [(id: EffectEvent.ID, about: JSON)]
    /// Events that are to be tried again, with their stores.
    package let again: [(id: EffectEvent.ID, store: String)]
    /// Where its condition has become true, and no event of that is settled.
    package let held: [ConditionTracker.Beginning]

    package init(_ state: JSON) {
        epoch = state["epoch"]?.string ?? ""
        owner = state["owner"]?.string ?? ""
        done = state["done"]?.int ?? 0
        left = state["left"]?.int ?? 0
        isClean = state["isClean"]?.bool ?? false
        paused = state["paused"]?.string
        failed = (state["failed"]?.object?.members ?? []).compactMap { member in
            EffectEvent.ID(member.key).map { ($0, member.value) }
        }
        held = (state["held"]?.object?.members ?? []).compactMap { member in
            EffectEvent.ID(member.key).map { id in
                ConditionTracker.Beginning(
                    id, store: member.value["store"]?.string ?? "", time: member.value["time"]?.double ?? 0,
                    by: member.value["by"] ?? [:])
            }
        }
        again = (state["again"]?.object?.members ?? []).compactMap { member in
            EffectEvent.ID(member.key).map { ($0, member.value.string ?? "") }
        }
    }
}
