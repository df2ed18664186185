import BusJSON

/// Telling many the same.
extension Engine {
    /// Tells a shape's subscribers, those that are told the same together. Action events and single subscribers are not for
    /// here.
    func deliverTogether(_ content: ShapeContent, _ cause: ByteWriter?, to shape: Shape) {
        let cohort = shape.cohort ?? formCohort(of: shape)
        if cohort.run.count >= Cohort.runSize { beginRun(of: cohort) }
        if !cohort.members.isEmpty {
            let start = cohort.run.count
            appendEvent(content, cause, number: cohort.number, from: cohort.from, to: cohort.run)
            noteEvent(of: cohort, from: start)
        }
        for subscription in cohort.others { deliver(content, cause, toOneOf: subscription) }
    }

    /// An event has been written for all members, behind the first `start` bytes of their run.
    @inline(__always)
    func noteEvent(of cohort: Cohort, from start: Int) {
        cohort.from = revision
        outboxBytes += (cohort.run.count - start) * cohort.members.count
        statistics.events += cohort.members.count
    }

    private func formCohort(of shape: Shape) -> Cohort {
        let cohort = Cohort(run: spareWriters.take())
        for subscription in shape.subscribers {
            if cohort.members.isEmpty {
                (cohort.number, cohort.from) = (subscription.number, subscription.from)
            }
            // Runs are held whole: somebody slow would hold many for little. Those get bytes of their own.
            if subscription.number == cohort.number, subscription.from == cohort.from, isAlone(subscription),
                subscription.connection.outbox.count <= Limits.sharedWhileWaiting, hasRoom(subscription)
            {
                cohort.add(subscription)
            } else {
                cohort.addOther(subscription)
            }
        }
        shape.cohort = cohort
        formedCohorts.append(shape)
        return cohort
    }

    /// Whether nothing but this subscription's live events has to be told on its connection.
    private func isAlone(_ subscription: Subscription) -> Bool {
        let connection = subscription.connection
        return connection.subscriptions.count == 1 && connection.lagging == 0 && !connection.isClosing
    }

    /// Whether a whole run fits into the outbox, so that nobody has to look meanwhile.
    private func hasRoom(_ subscription: Subscription) -> Bool {
        subscription.connection.outbox.count + Cohort.runSize < outboxLimit
    }

    /// The run is full: everybody has it, and who takes no other is told one by one from here on.
    private func beginRun(of cohort: Cohort) {
        for subscription in cohort.members { takeFromCohort(subscription.connection) }
        cohort.part { !self.hasRoom($0) }
        usedRuns.append(cohort.run)
        cohort.run = spareWriters.take()
        for subscription in cohort.members { subscription.connection.cohortStart = 0 }
    }

    /// Puts into the outbox what was written for a member of a cohort since it was last given something.
    func takeFromCohort(_ connection: Connection) {
        guard let cohort = connection.cohort else { return }
        let (start, end) = (connection.cohortStart, cohort.run.count)
        if start == end { return }
        connection.outbox.append(shared: cohort.run, from: start, to: end)
        connection.cohortStart = end
        markReady(connection)
    }

    /// The shape's subscribers are told one by one until a commit finds them anew.
    func endCohort(of shape: Shape) {
        guard let cohort = shape.cohort else { return }
        shape.cohort = nil
        for subscription in cohort.members {
            takeFromCohort(subscription.connection)
            cohort.leave(subscription)
        }
        usedRuns.append(cohort.run)
    }

    /// Ends the cohort that a connection is in, because its subscription is no longer like the others.
    func endCohort(with connection: Connection) {
        if connection.cohort != nil, let subscription = connection.subscriptions.first {
            endCohort(of: subscription.shape)
        }
    }

    /// At the end of a turn everybody gets what is theirs.
    func endCohorts() {
        if formedCohorts.isEmpty { return }
        for shape in formedCohorts { endCohort(of: shape) }
        formedCohorts.removeAll(keepingCapacity: true)
    }

    /// Between turns: runs that were sent to everybody are used again, others belong to whoever still has them.
    func recycleRuns() {
        for index in usedRuns.indices where isKnownUniquelyReferenced(&usedRuns[index]) {
            spareWriters.giveBack(usedRuns[index])
        }
        usedRuns.removeAll(keepingCapacity: true)
    }
}
