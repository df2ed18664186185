import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Batches that create and drop stores besides their actions, as one commit.
extension Commands {
    /// Whether a batch may hold more than actions: one of an entry of earlier rules may not.
    var takesSteps: Bool { isProposal || machine.rules >= BusLimits.rulesOfConditions }

    /// The elements of such a batch; nil for any other dispatch.
    func batchOfStores() throws(RequestError) -> [BatchStep]? {
        guard takesSteps, request.present.contains(.actions),
            !request.hasBatch,
            let elements = try request.array(.actions), BatchStep.areAboutStores(elements)
        else { return nil }
        try machine.requireBatch(of: elements.count, in: request)
        var steps: [BatchStep] = []
        for (index, element) in elements.enumerated() {
            do throws(RequestError) {
                steps.append(try BatchStep(element, place: "actions[\(index)]"))
            } catch {
                throw error.at(index)
            }
        }
        return steps
    }

    /// Plans a batch. False where the host postpones it, and nothing is planned.
    func plan(
        _ batch: [BatchStep], by caller: Caller, _ host: any CommandHost
    ) throws(RequestError) -> Bool {
        let isPlanned: Bool
        do throws(RequestError) {
            isPlanned = try planAll(batch, by: caller, host)
        } catch {
            machine.releaseStores()
            throw error
        }
        if !isPlanned { machine.releaseStores() }
        return isPlanned
    }

    private func planAll(
        _ batch: [BatchStep], by caller: Caller, _ host: any CommandHost
    ) throws(RequestError) -> Bool {
        defer { machine.endPlanning() }
        var made = Made()
        for (index, step) in batch.enumerated() {
            // A drop by value is one step, and no batch.
            let isElement = request.present.contains(.actions)
            do throws(RequestError) {
                guard try plan(step, isElement ? index : -1, &made, by: caller, host) else { return false }
            } catch {
                throw isElement ? error.at(index) : error
            }
        }
        return true
    }

    /// What the creations of a batch have taken so far.
    private struct Made {
        var operations = 0
        var bytes = 0
        var ephemeral = 0
    }

    private func plan(
        _ step: BatchStep, _ index: Int, _ made: inout Made, by caller: Caller, _ host: any CommandHost
    ) throws(RequestError) -> Bool {
        switch step {
        case .action(let element):
            try machine.planElement(element, inDispatch: index, seenBy: caller.grants)
        case .drop(let address, let wanted):
            let (_, store) = try machine.requireStore(address)
            try requireOwnership(of: store, by: caller)
            try machine.planDrop(of: store, where: wanted, seenBy: caller.grants, index)
        case .dropChosen(let type, let filter):
            let entry = try machine.requireType(type)
            try machine.refuseView(entry)
            let creator = mayDropOfOthers(caller) ? nil : caller.principal.number
            try machine.planDrop(of: entry, where: filter, createdBy: creator, index)
        case .create(let creation):
            return try creation.store.utf8Span.span.withUnsafeBytes { (address) throws(RequestError) in
                try plan(creation, try machine.requireAddress(address), index, &made, by: caller, host)
            }
        }
        return true
    }

    private func plan(
        _ creation: StoreCreation, _ parts: AddressParts, _ index: Int, _ made: inout Made,
        by caller: Caller, _ host: any CommandHost
    ) throws(RequestError) -> Bool {
        let entry = try machine.requireType(parts.type)
        try machine.refuseView(entry)
        let lease = try machine.requestedTimeToLive(creation.timeToLive, of: entry)
        if creation.ifMissing, let store = machine.stores.find(type: entry.index, name: parts.name) {
            machine.planKeeping(of: store, index)
            return true
        }
        try machine.requireFree(creation.store, parts, entry)
        guard try host.admit(.creation) else { return false }
        if creation.isEphemeral {
            try machine.requireRoom(in: (host.openSession?.ephemeralStores.count ?? 0) + made.ephemeral)
            made.ephemeral += 1
        }
        // All share what one commit may spend.
        let state = try machine.newState(
            of: entry, replacing: creation.state, of: creation.version, in: nil, spent: made.operations)
        made.operations += machine.operationsOfCreation
        try requireConditions(forCreating: creation.store, of: entry, parts, state, by: caller)
        made.bytes += state.encodedSize
        guard try host.admit(.state(bytes: made.bytes)) else { return false }
        machine.planCreation(
            parts, of: entry, state, lease: lease, isEphemeral: creation.isEphemeral, by: caller.principal,
            index)
        return true
    }

    /// Throws unless the rules allow what an element names.
    func authorize(_ step: BatchStep, _ grants: Grants) throws(RequestError) {
        switch step {
        case .action(let element): try authorize(element, grants)
        case .create(let creation): try require(.create, creation.store, grants, "create")
        case .drop(let store, let wanted):
            try require(.drop, store, grants, "drop")
            if !wanted.isEmpty { try require(.read, store, grants, "read") }
        case .dropChosen(let type, let filter):
            guard grants.may(.drop, allOf: type) else {
                throw Self.forbidden("drop all stores of a type, as you may with", type)
            }
            try require(filter, of: machine.liveTypes.filter { $0.name == type }, grants)
        }
    }

    /// Whether somebody sees all that an element names.
    func sees(_ step: BatchStep, _ grants: Grants) -> Bool {
        let address: String
        switch step {
        case .action(let element) where !element.isStore:
            return element.target != "*" && grants.showsAll(ofType: element.target)
        case .action(let element): address = element.target
        case .create(let creation): address = creation.store
        case .drop(let store, _): address = store
        case .dropChosen(let type, _): return grants.showsAll(ofType: type)
        }
        return Self.parts(of: address).map { grants.showsWhole($0.name, ofType: $0.type) } ?? false
    }

    /// What operators read of the stores of a batch, while they are there.
    func reports(of batch: BatchStores, by principal: Principal) -> [CommandReport] {
        func isEphemeral(_ store: Int32) -> Bool { machine.stores.pointer(store).pointee.owner >= 0 }
        return batch.removed.map {
            .dropped(machine.address(of: Int($0)), isEphemeral: isEphemeral($0), by: principal)
        }
            + batch.created.map {
                .created(machine.address(of: Int($0)), isEphemeral: isEphemeral($0), by: principal)
            }
    }
}
