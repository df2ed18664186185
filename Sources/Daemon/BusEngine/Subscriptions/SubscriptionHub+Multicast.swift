import BusJSON

/// Delivery of the same bytes to many subscribers.
extension SubscriptionHub {
    /// Notifies a group's subscribers, together where they receive the same. Not for action
    /// events and single subscribers.
    func deliverTogether(_ content: GroupContent, _ cause: ByteWriter?, to group: SubscriberGroup) {
        let multicast = group.multicast ?? formMulticast(of: group)
        if multicast.run.bytes.count >= MulticastGroup.runSize { beginRun(of: multicast) }
        if !multicast.members.isEmpty {
            let start = multicast.run.bytes.count
            appendEvent(
                content, cause, number: multicast.number, from: multicast.from, to: multicast.run.bytes)
            noteEvent(of: multicast, from: start)
        }
        // From the end, because a subscription that begins to lag changes places with the last.
        for place in multicast.others.indices.reversed() {
            multicast.others[place]._withUnsafeGuaranteedRef { deliver(content, cause, toOneOf: $0) }
        }
    }

    /// An event has been written for all members, behind the first `start` bytes of their run.
    @inline(__always)
    func noteEvent(of multicast: MulticastGroup, from start: Int) {
        multicast.from = machine.revision
        let bytes = multicast.run.bytes.count &- start
        clock.work &+= bytes
        connections.countShared(bytes, for: multicast.members.count)
        totals.events += multicast.members.count
        multicast.events &+= 1
    }

    private func formMulticast(of group: SubscriberGroup) -> MulticastGroup {
        let multicast = spareMulticasts.popLast() ?? MulticastGroup()
        multicast.run.bytes = connections.pool.take()
        for place in 0..<group.liveCount {
            Unmanaged.passUnretained(group.subscribers[place])._withUnsafeGuaranteedRef { subscription in
                Unmanaged.passUnretained(subscription.connection)._withUnsafeGuaranteedRef { connection in
                    if multicast.members.isEmpty {
                        (multicast.number, multicast.from) = (subscription.number, subscription.from)
                    }
                    if subscription.number == multicast.number, subscription.from == multicast.from,
                        canShare(connection)
                    {
                        multicast.add(subscription, connection)
                    } else {
                        multicast.addOther(subscription)
                    }
                }
            }
        }
        group.multicast = multicast
        formedMulticasts.append(group)
        multicastsFormed += 1
        return multicast
    }

    /// Whether a connection only has one subscription's live events to receive, and takes them as they come.
    @inline(__always)
    private func canShare(_ connection: Connection) -> Bool {
        // Runs are held whole: a slow reader would hold many for little. It gets bytes of its own.
        !connection.delivery.subscriptions.areSeveral && connection.lagging == 0 && !connection.isClosing
            && connection.output.outbox.count <= DaemonLimits.sharedWhileWaiting && hasRoom(connection)
    }

    /// Whether a whole run fits into the outbox, so that nothing has to be checked meanwhile.
    @inline(__always)
    private func hasRoom(_ connection: Connection) -> Bool {
        connection.output.outbox.count + MulticastGroup.runSize < connections.outboxLimit(of: connection)
    }

    /// The run is full: all members get it, and those without room for another are notified one by one from here on.
    private func beginRun(of multicast: MulticastGroup) {
        multicast.forEachMember { connections.takeShared($1) }
        multicast.part { !self.hasRoom($1) }
        connections.retire(multicast.run.bytes)
        multicast.run.bytes = connections.pool.take()
        multicast.forEachMember { $1.output.beginRun() }
    }

    /// The group's subscribers are notified one by one until a commit forms a new multicast.
    func endMulticast(of group: SubscriberGroup) {
        guard let multicast = group.multicast else { return }
        group.multicast = nil
        let bytes = multicast.run.bytes
        multicast.forEachMember { subscription, connection in
            connections.give(bytes, to: connection)
            multicast.leave(subscription, connection)
        }
        connections.retire(multicast.end())
        if spareMulticasts.count < DaemonLimits.spareMulticasts { spareMulticasts.append(multicast) }
    }

    /// Ends the multicast that a connection is in, because its subscription is no longer like the others.
    func endMulticast(with connection: Connection) {
        if connection.output.sharedRun != nil, let subscription = connection.delivery.subscriptions.first {
            endMulticast(of: subscription.group)
        }
    }

    /// At the end of a turn every member gets its bytes.
    @inline(__always)
    func endMulticasts() {
        if formedMulticasts.isEmpty { return }
        for group in formedMulticasts { endMulticast(of: group) }
        formedMulticasts.removeAll(keepingCapacity: true)
    }
}
