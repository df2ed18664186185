import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Actions as events and as causes.
extension SubscriptionHub {
    /// Encodes the plan's actions for the groups that want actions.
    func publishActions(by principal: Principal) {
        let events = publication.actions
        events.clear()
        publication.actionEnds.removeAll(keepingCapacity: true)
        let plan = machine.plan
        let isBatch = plan.actions.count > 1
        var places = SeenPlaces()
        for (number, action) in plan.actions.elements.enumerated() {
            var written: (index: Int?, event: Int)?
            // Of a batch, an action may have several places, as it is seen.
            var others: [(index: Int?, event: Int)] = []
            for group in groupsWanting(action) {
                let index =
                    isBatch
                    ? places.index(of: number, seenBy: group.key.view) { view in
                        plan.actions.elements.map { shows($0, to: view) }
                    } : nil
                if written == nil || written!.index != index {
                    written =
                        others.first { $0.index == index } ?? (index, append(action, index, by: principal))
                    if isBatch { others.append(written!) }
                }
                content(of: group)?.actions.append(written!.event)
            }
        }
        clock.work += events.count * Work.encodedByte
    }

    /// Writes the event of an action, and returns which one it is.
    private func append(_ action: DispatchPlan.Action, _ index: Int?, by principal: Principal) -> Int {
        let events = publication.actions
        let start = events.count
        events.append(actionAt: machine.revision, index: index)
        let mark = events.count
        machine.append(action, to: events)
        // What it returns is left out where its payload takes the room.
        if events.count - start > partLimit, machine.hasReturned {
            events.truncate(to: mark)
            machine.append(action, isReturnedShown: false, to: events)
        }
        events.append(by: principal.by)
        machine.appendTime(to: events)
        machine.appendTraceparent(to: events)
        publication.actionEnds.append(events.count)
        return publication.actionEnds.count - 1
    }

    private func shows(_ action: DispatchPlan.Action, to view: Grants) -> Bool {
        let isForAll = action.payloadForEveryType != nil
        return action.steps.contains { shows(machine.plan.steps[$0], isForAll: isForAll, to: view) }
    }

    /// The groups that are notified of an action: those of every type it reaches, and those of the stores it reached.
    private func groupsWanting(_ action: DispatchPlan.Action) -> [SubscriberGroup] {
        var wanting: [SubscriberGroup] = []
        publishedActions += 1
        let isForAll = action.payloadForEveryType != nil
        func insert(_ group: SubscriberGroup, _ step: DispatchPlan.Step) {
            // Several types of one action may have the same groups.
            guard group.key.actions, group.lastAction < publishedActions, !group.isOverdue else { return }
            if let view = group.key.view, !shows(step, isForAll: isForAll, to: view) { return }
            group.lastAction = publishedActions
            wanting.append(group)
        }
        for place in action.steps {
            let step = machine.plan.steps[place]
            for group in groups.byType[Int(step.type.index)] { insert(group, step) }
            if step.store >= 0 {
                let record = machine.stores.pointer(step.store)
                for group in groups.byStore[step.store]?.pointee ?? [] { insert(group, step) }
                for group in groups.searchingActions
                where group.key.pattern.type.matches(step.type.name)
                    && group.key.pattern.name.matches(record.pointee.name)
                { insert(group, step) }
                for group in groups.tests.actionGroups where isChosen(step, by: group) { insert(group, step) }
            } else {
                // It is about every store of the type that there may be, as the log does not know which there were.
                for group in groups.partialActions where group.key.pattern.type.matches(step.type.name) {
                    insert(group, step)
                }
                for group in groups.tests.actionGroups
                where group.key.pattern.type.matches(step.type.name)
                    && group.hasMembers(ofType: step.type.index)
                { insert(group, step) }
            }
        }
        return wanting
    }

    /// Whether an action is about a store that a group chooses, or did before the commit, while that may not be among its
    /// members because it has not found all of them.
    private func isChosen(_ step: DispatchPlan.Step, by group: SubscriberGroup) -> Bool {
        guard group.search != nil, let test = group.test else { return false }
        let name = machine.stores.pointer(step.store).pointee.name
        guard group.isAbout(name, ofType: step.type.name) else { return false }
        return publication.leaving.contains { $0.group === group && $0.store == step.store }
            || groups.test(step.store, by: test, for: group) == true
    }

    /// Whether somebody is shown an action: what is addressed to a type may be about any store of it, and what is addressed
    /// to all types about anything.
    private func shows(_ step: DispatchPlan.Step, isForAll: Bool, to view: Grants) -> Bool {
        if isForAll { return view.knowsEverything }
        guard step.store >= 0 else { return view.knowsHistory(ofAll: step.type.name) }
        return view.knowsHistory(
            of: machine.stores.pointer(step.store).pointee.name, ofType: step.type.name)
    }

    /// `,"cause":{…}` of the commit being published.
    func cause(by principal: Principal, actions: Bool) -> ByteWriter {
        if let cause = publication.cause { return cause }
        let writer = ByteWriter()
        writer.append(causeBy: principal.by) {
            if actions { machine.appendActions(to: $0) }
        } rest: {
            machine.appendTime(to: $0)
            machine.appendTraceparent(to: $0)
        }
        (publication.cause, publication.causeRevision) = (writer, machine.revision)
        return writer
    }
}
