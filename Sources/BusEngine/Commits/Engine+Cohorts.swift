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
        // From the end, as who begins to lag changes places with the last.
        for place in cohort.others.indices.reversed() {
            cohort.others[place]._withUnsafeGuaranteedRef { deliver(content, cause, toOneOf: $0) }
        }
    }

    /// An event has been written for all members, behind the first `start` bytes of their run.
    @inline(__always)
    func noteEvent(of cohort: Cohort, from start: Int) {
        cohort.from = revision
        let bytes = cohort.run.count &- start
        work &+= bytes
        outboxBytes &+= bytes &* cohort.members.count
        turnOutput &+= bytes &* cohort.members.count
        sharedOutboxBytes &+= bytes &* cohort.members.count
        statistics.events += cohort.members.count
    }

    private func formCohort(of shape: Shape) -> Cohort {
        let cohort = spareCohorts.popLast() ?? Cohort()
        cohort.run = spareWriters.take()
        for place in 0..<shape.liveCount {
            Unmanaged.passUnretained(shape.subscribers[place])._withUnsafeGuaranteedRef { subscription in
                Unmanaged.passUnretained(subscription.connection)._withUnsafeGuaranteedRef { connection in
                    if cohort.members.isEmpty {
                        (cohort.number, cohort.from) = (subscription.number, subscription.from)
                    }
                    if subscription.number == cohort.number, subscription.from == cohort.from,
                        canShare(connection)
                    {
                        cohort.add(subscription, connection)
                    } else {
                        cohort.addOther(subscription)
                    }
                }
            }
        }
        shape.cohort = cohort
        formedCohorts.append(shape)
        return cohort
    }

    /// Whether a connection has nothing to be told but one subscription's live events, and takes them as they come.
    @inline(__always)
    private func canShare(_ connection: Connection) -> Bool {
        // Runs are held whole: somebody slow would hold many for little. Those get bytes of their own.
        connection.subscriptions.count == 1 && connection.lagging == 0 && !connection.isClosing
            && connection.outbox.count <= Limits.sharedWhileWaiting && hasRoom(connection)
    }

    /// Whether a whole run fits into the outbox, so that nobody has to look meanwhile.
    @inline(__always)
    private func hasRoom(_ connection: Connection) -> Bool {
        connection.outbox.count + Cohort.runSize < outboxLimit
    }

    /// The run is full: everybody has it, and who takes no other is told one by one from here on.
    private func beginRun(of cohort: Cohort) {
        cohort.forEachMember { takeFromCohort($1) }
        cohort.part { !self.hasRoom($1) }
        usedRuns.append(cohort.run)
        cohort.run = spareWriters.take()
        cohort.forEachMember { $1.cohortStart = 0 }
    }

    /// Puts into the outbox what was written for a member of a cohort since it was last given something.
    @inline(__always)
    func takeFromCohort(_ connection: Connection) {
        guard let cohort = connection.cohort.map(Unmanaged.passUnretained) else { return }
        cohort._withUnsafeGuaranteedRef { give($0.run, to: connection) }
    }

    /// Puts what is new in a cohort's run into a member's outbox.
    @inline(__always)
    private func give(_ run: ByteWriter, to connection: Connection) {
        let (start, end) = (connection.cohortStart, run.count)
        if start == end { return }
        connection.outbox.append(shared: run, from: start, to: end)
        connection.cohortStart = end
        markReady(connection)
    }

    /// The shape's subscribers are told one by one until a commit finds them anew.
    func endCohort(of shape: Shape) {
        guard let cohort = shape.cohort else { return }
        shape.cohort = nil
        let run = cohort.run
        cohort.forEachMember { subscription, connection in
            give(run, to: connection)
            cohort.leave(subscription, connection)
        }
        usedRuns.append(cohort.end())
        if spareCohorts.count < Limits.spareCohorts { spareCohorts.append(cohort) }
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

    /// Between turns: runs that were sent to everybody are used again, others are lent until whoever has them has sent them.
    func recycleRuns() {
        for index in usedRuns.indices {
            if isKnownUniquelyReferenced(&usedRuns[index]) {
                spareWriters.giveBack(usedRuns[index])
            } else {
                lentBytes += usedRuns[index].reserved
                lentRuns.append(usedRuns[index])
            }
        }
        usedRuns.removeAll(keepingCapacity: true)
        if !lentRuns.isEmpty, now - lentRunsSeenAt >= Limits.lentRunsInterval { takeBackRuns() }
    }

    /// Runs that nobody else has any more are used again.
    private func takeBackRuns() {
        lentRunsSeenAt = now
        var lent: [ByteWriter] = []
        lentBytes = 0
        for index in lentRuns.indices {
            if isKnownUniquelyReferenced(&lentRuns[index]) {
                spareWriters.giveBack(lentRuns[index])
            } else {
                lentBytes += lentRuns[index].reserved
                lent.append(lentRuns[index])
            }
        }
        lentRuns = lent
    }
}
