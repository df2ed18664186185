import BusJSON
import BusMachine
import BusProtocol

/// Catching up of groups whose subscribers see only parts of some stores.
///
/// What they are delivered follows from what they see: a store is due where its parts have changed, whatever else of it
/// has, and stores come in the order of their addresses. Only where there are many members, and some of them changed
/// while others were delivered or while a subscription lagged, are these in the order of all changes.
extension SubscriptionHub {
    func gatherSeen(
        into list: ItemList, for subscription: Subscription, _ catchUp: inout CatchUp
    ) -> Progress {
        let group = subscription.group
        while true {
            if catchUp.through == nil {
                catchUp.through = machine.revision
                catchUp.ceiling = machine.sequence
                catchUp.isLong = group.members.count > Self.fewMembers
            }
            let told = catchUp.told ?? (catchUp.reset ? -1 : subscription.from)
            let progress: Progress
            if !catchUp.isLong {
                progress = gatherSeenMembers(into: list, for: group, after: told, &catchUp)
            } else if told < 0 {
                progress = gatherAllSeen(into: list, for: group, &catchUp)
            } else {
                progress = gatherTypes(into: list, for: group, &catchUp) {
                    isSeen($0, by: group, after: told)
                }
            }
            guard progress == .isComplete else { return progress }
            if catchUp.through == machine.revision { return .isComplete }
            // One line names no store twice.
            if !list.isEmpty { return .isFull }
            catchUp.beginRound(ceiling: machine.sequence)
        }
    }

    /// Whether subscribers of the group have seen a store change after a revision.
    private func isSeen(_ store: Int32, by group: SubscriberGroup, after told: Int) -> Bool {
        clock.work += Work.look
        return machine.revision(of: store, seenBy: group.key.view) > told
    }

    private func gatherSeenMembers(
        into list: ItemList, for group: SubscriberGroup, after told: Int, _ catchUp: inout CatchUp
    ) -> Progress {
        var due: [(address: String, store: Int32)] = []
        for store in group.members where isSeen(store, by: group, after: told) {
            let address = machine.address(of: Int(store))
            if let last = catchUp.address, !UTF8Order.precedes(last, address) { continue }
            due.append((address, store))
        }
        due.sort { UTF8Order.precedes($0.address, $1.address) }
        for (number, (address, store)) in due.enumerated() {
            if clock.isSliceUsedUp, number > 0 { return .hasMore }
            let type = machine.types[Int(machine.stores.pointer(store).pointee.type)]
            guard append(store, type, for: group, catchUp, to: list) else { return .isFull }
            catchUp.address = address
        }
        return .isComplete
    }

    /// All members, in the order in which their types are known and then of their names.
    private func gatherAllSeen(
        into list: ItemList, for group: SubscriberGroup, _ catchUp: inout CatchUp
    ) -> Progress {
        while catchUp.type < machine.types.count {
            let entry = machine.types[catchUp.type]
            if group.key.pattern.type.matches(entry.name) {
                entry.ordered.prepare(entry.members)
                entry.ordered.putInPlace {
                    clock.work += Work.ordering
                    return !clock.isSliceUsedUp
                }
                guard entry.ordered.isComplete else { return .hasMore }
                let progress = gatherAllSeen(of: entry, into: list, for: group, &catchUp)
                guard progress == .isComplete else { return progress }
            }
            catchUp.type += 1
            catchUp.address = nil
        }
        return .isComplete
    }

    private func gatherAllSeen(
        of entry: TypeEntry, into list: ItemList, for group: SubscriberGroup, _ catchUp: inout CatchUp
    ) -> Progress {
        let last = catchUp.address
        var progress = Progress.isComplete
        // However short the slice is, the walk advances by one store.
        var hasAdvanced = false
        entry.ordered.forEach(from: last) { index in
            let name = machine.stores.pointer(index).pointee.name
            if let last, !UTF8Order.precedes(last, name) { return true }
            if clock.isSliceUsedUp, hasAdvanced {
                progress = .hasMore
                return false
            }
            hasAdvanced = true
            clock.work += Work.look
            if group.members.contains(index), !append(index, entry, for: group, catchUp, to: list) {
                progress = .isFull
                return false
            }
            catchUp.address = name
            return true
        }
        return progress
    }
}
