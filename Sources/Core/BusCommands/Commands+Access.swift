import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// What the access rules say of a command. Names are judged before anything is looked up, so that a refusal says nothing
/// of what there is.
extension Commands {
    /// Throws unless all that a dispatch names may be dispatched, conditions aside.
    package func authorizeDispatch(_ grants: Grants) throws(RequestError) {
        try requireCondition(ofStoreIn: grants)
        guard let actions = try request.array(.actions) else {
            let isStore = request.present.contains(.store)
            guard request.present.contains(.action), isStore || request.present.contains(.type) else {
                return
            }
            let action = String(decoding: request.action, as: UTF8.self)
            let target = String(decoding: isStore ? request.store : request.type, as: UTF8.self)
            try authorize(action, isStore: isStore, target, grants)
            if let filter = request.value(.where) {
                try require(filter, of: types(of: target, action), grants)
            }
            return
        }
        guard takesSteps else { return try authorize(actions, grants) }
        for (index, element) in actions.enumerated() {
            do throws(RequestError) {
                try authorize(try BatchStep(element, place: "actions[\(index)]"), grants)
            } catch {
                throw error.at(index)
            }
        }
    }

    /// A request that says what its store must be like is answered by what it is like: who asks may read it.
    package func requireCondition(ofStoreIn grants: Grants?) throws(RequestError) {
        guard request.present.containsAny(of: Precondition.members) else { return }
        try require(.read, ofStoreIn: grants, "read")
    }

    /// Throws unless each of these is an action, and may be dispatched.
    package func authorize(_ actions: [JSON], _ grants: Grants?) throws(RequestError) {
        for (index, element) in actions.enumerated() {
            do throws(RequestError) {
                let element = try BatchElement(element, place: "actions[\(index)]")
                if let grants { try authorize(element, grants) }
            } catch {
                throw error.at(index)
            }
        }
    }

    func authorize(_ element: BatchElement, _ grants: Grants) throws(RequestError) {
        if !element.precondition.isEmpty { try require(.read, element.target, grants, "read") }
        try authorize(element.action, isStore: element.isStore, element.target, grants)
        if let filter = element.precondition.filter {
            try require(filter, of: types(of: element.target, element.action), grants)
        }
    }

    /// What an expression that chooses stores comes to is answered, and stands in the log for all to apply alike: who asks may
    /// read what it reads of all stores of the types that are meant.
    func require(_ filter: JSON, of types: [TypeEntry], _ grants: Grants) throws(RequestError) {
        if grants.readsEverything { return }
        let reads = try machine.filter(filter).reads
        for type in types {
            guard let member = grants.hiddenRead(of: reads, ofAll: type.name) else { continue }
            let what = member.isEmpty ? "all" : member
            throw Self.forbidden(
                "choose by `where`, as you may not read \(what) of all stores, among", type.name)
        }
    }

    private func types(of target: String, _ action: String) -> [TypeEntry] {
        machine.liveTypes.filter { target == "*" ? $0.hasAction(named: action) : $0.name == target }
    }

    private func authorize(
        _ action: String, isStore: Bool, _ target: String, _ grants: Grants
    ) throws(RequestError) {
        let isAllowed: Bool
        if isStore {
            isAllowed =
                Self.parts(of: target).map { type, name in
                    !grants.dispatching(action, to: name, ofType: type).isEmpty
                } ?? true
        } else if target == "*" {
            let types = machine.liveTypes.filter { $0.hasAction(named: action) }
            isAllowed =
                grants.dispatchesEverywhere(action)
                || !types.isEmpty
                    && types.allSatisfy { !grants.dispatching(action, to: nil, ofType: $0.name).isEmpty }
        } else {
            isAllowed = !grants.dispatching(action, to: nil, ofType: target).isEmpty
        }
        guard isAllowed else { throw StateMachine.forbidden(action, target) }
    }

    /// Throws unless the store that the request names may be used so, whether it exists or not.
    package func require(
        _ capability: Capability, ofStoreIn grants: Grants?, _ verb: String
    ) throws(RequestError) {
        guard let grants, request.present.contains(.store) else { return }
        try require(capability, String(decoding: request.store, as: UTF8.self), grants, verb)
    }

    func require(
        _ capability: Capability, _ address: String, _ grants: Grants?, _ verb: String
    ) throws(RequestError) {
        // What is no address is refused for that.
        guard let grants, let (type, name) = Self.parts(of: address) else { return }
        let isAllowed =
            switch capability {
            case .read: grants.shows(name, ofType: type)
            case .history: grants.knowsHistory(of: name, ofType: type)
            default: grants.may(capability, name, ofType: type)
            }
        if isAllowed { return }
        if capability == .history, case .parts = grants.pastVisibility(of: name, ofType: type) {
            throw Self.partsAlone(of: address)
        }
        throw Self.forbidden(verb, address)
    }

    /// Without rules a store is dropped and reverted by its creator, and by operators, for whom their machine vouches.
    package func requireOwnership(of index: Int32, by caller: Caller) throws(RequestError) {
        try machine.refuseView(of: index)
        if mayDropOfOthers(caller) { return }
        let creator = machine.stores.pointer(index).pointee.creator
        if creator >= 0, creator == caller.principal.number { return }
        throw machine.notOwned(index)
    }

    /// Whether somebody may drop what others have created, as far as the access rules let them drop it.
    func mayDropOfOthers(_ caller: Caller) -> Bool {
        machine.access != nil || caller.isOperator || caller.principal.identity == nil
    }

    package static func forbidden(_ verb: String, _ target: String) -> RequestError {
        RequestError(
            .forbidden,
            "The access rules do not let you \(verb) \(target.shortened(to: 200)); ask an operator of the bus for a role that may."
        ).with("store", .string(target))
    }

    /// Parts of past states are shown, but not what was done.
    private static func partsAlone(of store: String) -> RequestError {
        RequestError(
            .forbidden,
            "The access rules show you only parts of \(store.shortened(to: 200)), and no actions or commits; read these parts of past states with `get` and `revision`."
        ).with("store", .string(store))
    }

    /// Type and name of an address; nil for what is none.
    package static func parts(of address: String) -> (type: String, name: String)? {
        address.utf8Span.span.withUnsafeBytes { bytes in
            AddressParts(bytes).map {
                (String(decoding: $0.type, as: UTF8.self), String(decoding: $0.name, as: UTF8.self))
            }
        }
    }
}
