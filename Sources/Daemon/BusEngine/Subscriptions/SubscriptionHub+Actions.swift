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
        for (index, action) in plan.actions.elements.enumerated() {
            let wanting = groupsWanting(action)
            if wanting.isEmpty { continue }
            // The place in a batch, as it is seen, and where the event with it is.
            var written: [(index: Int?, place: Int)] = []
            for group in wanting {
                let index = plan.actions.count > 1 ? self.index(of: index, seenBy: group.key.view) : nil
                if !written.contains(where: { $0.index == index }) {
                    events.append(actionAt: machine.revision, index: index)
                    machine.append(action, to: events)
                    events.append(by: principal.by)
                    machine.appendTime(to: events)
                    publication.actionEnds.append(events.count)
                    written.append((index, publication.actionEnds.count - 1))
                }
                let place = written.first { $0.index == index }!.place
                content(of: group)?.actions.append(place)
            }
        }
        clock.work += events.count * Work.encodedByte
    }

    /// Which action of the batch it is for somebody to whom the others that are not shown are not there; nil for the only one.
    private func index(of number: Int, seenBy view: Grants?) -> Int? {
        guard let view else { return number }
        let actions = machine.plan.actions.elements
        let shown = actions.indices.filter { shows(actions[$0], to: view) }
        return shown.count > 1 ? shown.firstIndex(of: number) : nil
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
            guard group.key.actions, group.lastAction < publishedActions else { return }
            if let view = group.key.view, !shows(step, isForAll: isForAll, to: view) { return }
            group.lastAction = publishedActions
            wanting.append(group)
        }
        for place in action.steps {
            let step = machine.plan.steps[place]
            for group in groupsByType[Int(step.type.index)] { insert(group, step) }
            if step.store >= 0 {
                let record = machine.stores.pointer(step.store)
                for group in groupsByStore[step.store]?.pointee ?? [] { insert(group, step) }
                for group in searchingActionGroups
                where group.key.pattern.type.matches(step.type.name)
                    && group.key.pattern.name.matches(record.pointee.name)
                { insert(group, step) }
            } else {
                // It is about every store of the type that there may be, as the log does not know which there were.
                for group in partialActionGroups where group.key.pattern.type.matches(step.type.name) {
                    insert(group, step)
                }
            }
        }
        return wanting
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
        } time: {
            machine.appendTime(to: $0)
        }
        (publication.cause, publication.causeRevision) = (writer, machine.revision)
        return writer
    }
}
