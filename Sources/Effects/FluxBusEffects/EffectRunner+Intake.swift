import BusEffects
import BusJSON
import BusProtocol
import FluxBus

/// Which events an action is.
extension EffectRunner {
    /// Hands actions to the machine, in the order of the bus. One to a whole type is an event for each store that the
    /// effect is about, and those behind it wait until it is known which these are.
    func takeIn() {
        while !isLookingUp, let (action, size) = intake.first {
            guard let store = action.store else {
                isLookingUp = true
                lookUpStores(action, size)
                break
            }
            intake.removeFirst()
            taken += 1
            let id = EffectEvent.ID(revision: action.revision, index: action.index ?? 0)
            enter([EffectEvent(id, store: store, object: action.object, size: size)])
            keepPlaceSoon()
        }
        pump()
    }

    private func lookUpStores(_ action: ActionEvent, _ size: Int) {
        Task { [self] in
            let found = await Self.stores(of: effect, at: action.revision, host.bus)
            host.queue.async { [self] in foundStores(found, action, size) }
        }
    }

    private func foundStores(_ found: Result<[String], BusError>, _ action: ActionEvent, _ size: Int) {
        var stores: [String]
        switch found {
        case .success(let all): stores = all
        case .failure(let error):
            // The connection is restored by itself.
            mention(error, "the stores of revision \(action.revision) can't be read")
            return host.after(EffectLimits.pause) { [self] in lookUpStores(action, size) }
        }
        if stores.count > EffectLimits.stores {
            lose(
                from: action.revision - 1, to: action.revision,
                "\(action.action) went to more than \(EffectLimits.stores) stores; what it does to those behind "
                    + "\(stores[EffectLimits.stores - 1]) is left out")
            stores.removeSubrange(EffectLimits.stores...)
        }
        isLookingUp = false
        intake.removeFirst()
        taken += 1
        enter(Self.events(of: action, stores, effect))
        makeRoom(size)
        takeIn()
    }

    /// The events of an action to a whole type, for the stores whose condition may hold.
    static func events(of action: ActionEvent, _ stores: [String], _ effect: Effect) -> [EffectEvent] {
        let decides = effect.condition?.reads.contains("state") != true
        return stores.enumerated().compactMap { place, store in
            let id = EffectEvent.ID(revision: action.revision, index: action.index ?? 0, part: place + 1)
            let event = EffectEvent(id, store: store, object: action.object)
            return store == effect.store || decides && !effect.isMeant(event) ? nil : event
        }
    }

    /// The stores that an effect was about at a revision; where the bus keeps no past, those of now.
    private static func stores(
        of effect: Effect, at revision: Int, _ bus: Bus
    ) async -> Result<[String], BusError> {
        do throws(BusError) {
            return .success(try await names(of: effect, at: revision, bus))
        } catch {
            guard error.meansNoPast else { return .failure(error) }
        }
        do throws(BusError) {
            return .success(try await names(of: effect, at: nil, bus))
        } catch {
            return .failure(error)
        }
    }

    /// The addresses of the stores at a revision, or now, some more than an action is handled for at most; of an effect with a
    /// condition all those for which it holds.
    static func names(of effect: Effect, at revision: Int?, _ bus: Bus) async throws(BusError) -> [String] {
        var names: [String] = []
        var after: String?
        repeat {
            let page = try await bus.get(
                .match(effect.pattern.text), where: effect.becoming.map { .string($0.text) }, select: ["/-"],
                at: revision, limit: 1000, after: after)
            names += page.states.keys
            after = page.next
        } while after != nil && (names.count <= EffectLimits.stores || effect.becoming != nil)
        return names
    }

    // MARK: - Names

    /// Logs the actions that the file names and their types lack.
    func checkNames() {
        for (type, action) in effect.namedActions {
            let request = BusRequest("types", ["type": .string(type)])
            host.bus.post(request, timeout: .after(EffectLimits.pause)) { [self] reply in
                guard case .success(let reply) = reply,
                    let actions = reply["types"]?[0]?["actions"]?.object, actions[action] == nil
                else { return }
                host.log(
                    "\(effect.name): \(type) has no action \(action); \(suggestion(for: action, among: actions.keys))"
                )
            }
        }
    }

    // MARK: - Events of the past

    /// Finds events that were set aside, and tries them again in this order.
    func lookUp(_ events: [(id: EffectEvent.ID, store: String)]) {
        Task { [self] in
            for (id, store) in events {
                let result: Result<EffectEvent?, BusError>
                do throws(BusError) {
                    let (commits, _) = try await host.bus.history(
                        since: id.revision - 1, until: id.revision, limit: 1)
                    result = .success(
                        commits.first.flatMap { EffectEvent(id, store: store, in: $0, for: effect) })
                } catch {
                    result = .failure(error)
                }
                host.queue.async { [self, result] in found(result, id, store) }
            }
        }
    }

    private func found(_ result: Result<EffectEvent?, BusError>, _ id: EffectEvent.ID, _ store: String) {
        guard isFollowing else { return }
        switch result {
        case .success(let event?):
            machine.take(event, isAgain: true)
            pump()
        case .success(nil): forget(id, store, "its commit is not in the history any more")
        case .failure(let error) where error.meansNoPast:
            forget(id, store, "its commit is not in the history any more")
        case .failure(let error):
            host.log("\(effect.name): \(id) can't be read: \(error.message)")
            host.after(EffectLimits.pause) { [self] in lookUp([(id, store)]) }
        }
    }

    private func forget(_ id: EffectEvent.ID, _ store: String, _ reason: String) {
        host.tell(
            effect, "setAside",
            [
                "event": .string("\(id)"), "store": .string(store), "action": "", "reason": .string(reason),
                "tries": 0,
            ]
        ) { [self] in again.remove(id) }
    }
}
