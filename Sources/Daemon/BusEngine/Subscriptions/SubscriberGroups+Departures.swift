import BusMachine

/// Stores that have left what groups want, for subscribers that lag.
extension SubscriberGroups {
    /// Remembers that a store is no longer what a group wants, for its subscribers that lag.
    func noteDeparture(of index: Int32, from group: SubscriberGroup) {
        if group.isDeserted || group.key.actions { return }
        let record = machine.stores.pointer(index)
        departureCount += group.noteDeparture(
            of: record.pointee.name, ofType: record.pointee.type, at: machine.revision)
    }

    /// Nobody needs to know any longer what a group's members were.
    func forgetDepartures(of group: SubscriberGroup) {
        if group.departures.known > 0 { departureCount -= group.forgetDepartures(through: machine.revision) }
    }
}
