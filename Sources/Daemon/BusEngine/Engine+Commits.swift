import BusJSON
import BusMachine

/// What becomes of a commit while the machine makes it: subscribers are notified, and the log gets its entry.
extension Engine: CommitObserver {
    @inline(__always)
    package func began(actions: Bool, _ details: CommitDetails?) {
        totals.commits &+= 1
        if actions { machine.countActions() }
        if let details { noteStores(of: details) }
        hub.beginPublication()
    }

    @inline(__always)
    package func wrote(at place: Int, _ change: StoreChange, isAlone: Bool) {
        if isAlone {
            hub.publishOnlyWrite(change)
        } else {
            hub.publishWrite(at: place, change, isAlone: false)
        }
    }

    package func replaced(_ store: Int32, before: JSONObject) {
        hub.publishState(of: store, replacing: before)
    }
    package func created(_ store: Int32) { hub.publishState(of: store) }
    package func dropped(_ store: Int32) { hub.publishDrop(of: store) }

    @inline(__always)
    package func ends(
        by principal: Principal, actions: Bool, key: KeyedRequest?, _ details: CommitDetails?
    ) {
        hub.endPublication(by: principal, actions: actions)
        if log.isOn { log.append(machine, by: principal, actions: actions, key: key, details) }
        if let trace = hub.trace {
            machine.traceCommit(by: principal, actions: actions, key: key, details, to: trace)
        }
        // Delivery reads the records of dropped stores, so they go last.
        if let details { forgetStores(of: details) }
    }

    /// The stores that a commit creates and drops cost work, and change what pending reads find.
    private func noteStores(of details: CommitDetails) {
        clock.work += Work.create * details.created.count + Work.drop * details.dropped.count
        for index in details.created { hub.groups.join(index) }
    }

    private func forgetStores(of details: CommitDetails) {
        clock.work += reads.noteCreated(details.created) + reads.noteDropped(details.dropped)
        for index in details.dropped { hub.groups.leave(index) }
    }
}
