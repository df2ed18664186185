import BusMachine
import BusProtocol

/// What the expressions of subscriptions may take of a commit.
extension SubscriberGroups {
    /// Sets the budget for the commit that begins; it concerns this many stores.
    @inline(__always)
    func beginTests(of stores: Int) {
        if tests.isEmpty { return }
        testWork = DaemonLimits.testWork + stores * DaemonLimits.testWorkOfStore
        mostTestWorkOfUser = testWork / 2
        testedCommits += 1
    }

    /// Whether the expression of a group holds for a store that the commit being made has changed; nil where the commit has taken too
    /// long for that already: then the group is to start over.
    func test(_ store: Int32, by test: StoreTest, for group: SubscriberGroup) -> Bool? {
        if group.isOverdue { return nil }
        let user = group.maker
        if user.testing.commit != testedCommits { user.testing = (testedCommits, mostTestWorkOfUser) }
        guard testWork > 0, user.testing.left > 0 else {
            group.isOverdue = true
            overdue.append(group)
            return nil
        }
        let start = clock.work
        let holds = test.holds(for: store, in: machine, &clock.work)
        let spent = clock.work - start
        testWork -= spent
        user.testing.left -= spent
        // Who wants it pays for it, and not who commits.
        clock.deliveredWork &+= spent
        if let subscription = group.subscribers.first { scheduler.bill(spent, to: subscription.connection) }
        return holds
    }

    /// The groups that are to start over, which no new subscription finds any more.
    func takeOverdue() -> [SubscriberGroup] {
        for group in overdue where all[group.key] === group { all[group.key] = nil }
        defer { overdue = [] }
        return overdue
    }

    /// A new store becomes a member of a group whose expression holds for it.
    func test(_ index: Int32, for group: SubscriberGroup) {
        let record = machine.stores.pointer(index)
        if group.isAbout(record.pointee.name, ofType: machine.types[Int(record.pointee.type)].name),
            let test = group.test, self.test(index, by: test, for: group) == true
        {
            add(index, to: group)
        }
    }
}
