import BusJSON
import BusLogic
import BusProtocol

/// What the log keeps of types, as it is in force, and of commits.
///
/// Of a type of which it keeps nothing, a machine that is made from the log has no stores. So a commit that concerns only such
/// types has no entry, and what concerns them in any other commit is left out of its entry; the revisions of entries have
/// holes there. Commits of all other types are written alike, and thinned later where the past of a type has gone
/// (`Thinning`). Which policies are in force is in the log itself, and not only in definitions: the local copy of a shared bus
/// keeps everything, and a log may be older than the definitions with which a daemon is started.
extension StateMachine {
    /// Whether definitions decide what the log keeps of their types: on one machine, with a log.
    private(set) var appliesLogPolicies: Bool {
        get { place.pointee.appliesLogPolicies }
        set { place.pointee.appliesLogPolicies = newValue }
    }

    /// From now on definitions decide what the log keeps, or do not.
    package func applyLogPolicies(_ isApplied: Bool) { appliesLogPolicies = isApplied }

    /// The revision through which stores of types of which the log does not keep all are forgotten: that of the start.
    var forgottenThrough: Int {
        get { place.pointee.forgottenThrough }
        set { place.pointee.forgottenThrough = newValue }
    }

    /// What the log does not keep is forgotten through the present revision.
    package func forgetUnkept() { forgottenThrough = revision }

    /// A type of which the log keeps more or less from the next commit on.
    package struct PolicyChange {
        let type: String
        let policy: LogPolicy
        /// Whether it had nothing of it, so that the stores come with the commit.
        let isFirst: Bool
    }

    /// What the definitions change about what is in force.
    func policyChanges(with loaded: [any StateType]) -> [PolicyChange] {
        if !appliesLogPolicies { return [] }
        return loaded.compactMap { type in
            let policy = type.definition.logPolicy
            let kept = typesByName[type.name]?.kept ?? .all
            return policy == kept
                ? nil : PolicyChange(type: type.name, policy: policy, isFirst: kept == .none)
        }
    }

    /// A new log begins: what it keeps of types is as their definitions say.
    package func keepAsDefined() {
        appliesLogPolicies = true
        for change in policyChanges(with: liveTypes.map(\.type)) {
            typesByName[change.type]?.kept = change.policy
        }
        noteKept()
    }

    /// Puts a policy in force, with the commit of a revision.
    func keep(_ change: PolicyChange, since revision: Int) {
        guard let entry = typesByName[change.type] else { return }
        // What there was is known as before where only its past goes.
        if change.policy != .latest || change.isFirst { entry.keptSince = revision }
        entry.kept = change.policy
        noteKept()
    }

    /// Types, or what is kept of them, have changed.
    func noteKept() { place.pointee.keepsLess = liveTypes.contains { $0.kept == .none } }

    /// Whether the log keeps nothing of some type.
    @inline(__always)
    package var keepsLess: Bool { place.pointee.keepsLess }

    /// How far back the log keeps the past of types, where that is less far than its retention.
    package var pastRules: [String: LogReach] {
        if !appliesLogPolicies { return [:] }
        return liveTypes.reduce(into: [:]) { rules, entry in
            let reach = entry.kept == .all ? entry.type.definition.logReach : .nothing
            if reach != .whole { rules[entry.name] = reach }
        }
    }

    /// The shortest time for which it keeps any past, in milliseconds, where the bus's is `age`. Types of which it
    /// keeps nothing do not count: nothing of them has to go.
    package func shortestPast(_ age: Int) -> Int {
        let rules = pastRules
        return liveTypes.reduce(age) { $1.kept == .none ? $0 : min($0, rules[$1.name]?.age ?? $0) }
    }

    /// What the log keeps of a type; of a view the least of what it keeps of those it reads.
    package func policy(of entry: TypeEntry) -> LogPolicy {
        (entry.view?.sources ?? []).compactMap { typesByName[$0] }.reduce(entry.kept) {
            min($0, policy(of: $1))
        }
    }

    /// The revision from which on all changes of a type's stores are known, those of dropped ones included. Whoever comes from an
    /// earlier one has to start over.
    package func knownSince(_ entry: TypeEntry) -> Int {
        // What a start has forgotten ends with its revision.
        let own = entry.kept != .none ? entry.keptSince : forgottenThrough == 0 ? 0 : forgottenThrough + 1
        return (entry.view?.sources ?? []).compactMap { typesByName[$0] }.reduce(own) {
            max($0, knownSince($1))
        }
    }

    /// The same for all types that match.
    package func knownSince(_ pattern: AddressPattern) -> Int {
        liveTypes.reduce(0) { pattern.type.matches($1.name) ? max($0, knownSince($1)) : $0 }
    }

    /// Whether a type matches of which the log keeps no more than that.
    package func keepsAtMost(_ policy: LogPolicy, of pattern: AddressPattern) -> Bool {
        liveTypes.contains { pattern.type.matches($0.name) && self.policy(of: $0) <= policy }
    }

    /// The types that match and have no past here, by name.
    package func unkept(of pattern: AddressPattern) -> [LostPast] {
        typesInOrder.filter { pattern.type.matches($0.name) && !hasPast($0) }.map {
            LostPast(type: $0.name, keep: policy(of: $0), refusal: gone($0))
        }
    }

    /// The type of a store, if it has no past here.
    package func unkept(_ store: String) -> TypeEntry? {
        typesByName[String(store.prefix { $0 != "/" })].flatMap { hasPast($0) ? nil : $0 }
    }

    /// The types that match and of which the log keeps everything, but has not always.
    package func keptLate(_ pattern: AddressPattern) -> [TypeEntry] {
        typesInOrder.filter { pattern.type.matches($0.name) && policy(of: $0) == .all && knownSince($0) > 0 }
    }

    /// The last revision at which a type has no past by its policy, even if the log still has the commits; `Int.max` if it
    /// never has one. Types with their whole past are missing.
    package var horizons: [String: Int] {
        liveTypes.reduce(into: [:]) { horizons, entry in
            let last = entry.kept == .all ? entry.keptSince : .max
            if last > 0 { horizons[entry.name] = last }
        }
    }

    /// The revision through which the log may lack actions of some types, even if it was never thinned: until then it kept
    /// nothing of one, or another policy was in force. `Int.max` if it keeps nothing of one now.
    package func lackedActions(_ isMeant: (_ type: String) -> Bool) -> Int {
        liveTypes.reduce(0) { lacked, entry in
            let last = entry.kept == .none ? .max : entry.keptSince
            return last > lacked && isMeant(entry.name) ? last : lacked
        }
    }

    /// Whether the log keeps nothing of a store.
    package func keepsNothing(of store: String) -> Bool {
        typesByName[String(store.prefix { $0 != "/" })].map { policy(of: $0) == .none } ?? false
    }

    /// Whether the log tells what stores of a type, or of those that it is made of, were at this machine's revision.
    private func hasPast(_ entry: TypeEntry) -> Bool {
        entry.kept == .all && forgotten[entry.name] == nil
            && (entry.view?.sources ?? []).compactMap { typesByName[$0] }.allSatisfy(hasPast)
    }

    /// The refusal of a question about the past of a type.
    package func gone(_ entry: TypeEntry) -> RequestError {
        let policy = policy(of: entry)
        let source =
            entry.kept == .all
            ? (entry.view?.sources ?? []).lazy.compactMap { self.typesByName[$0] }
                .first { !self.hasPast($0) } : nil
        let what = source.map { "is made of \($0.name), which " } ?? ""
        if policy == .all {
            return Self.gone(entry.name, what, before: forgotten[(source ?? entry).name] ?? 0)
        }
        return RequestError(
            .gone,
            "\(entry.name) \(what)has no past: its type says log: { keep: \(self.policy(of: source ?? entry).rawValue) }. Ask for the state of now."
        ).with("type", .string(entry.name)).with("keep", .string(policy.rawValue))
    }

    /// The refusal of a question about what was before a type's past begins.
    ///
    /// - Parameter what: For a view, which of its sources has no earlier past.
    package static func gone(_ type: String, _ what: String = "", before revision: Int) -> RequestError {
        RequestError(
            .gone,
            "\(type) \(what)has a past since revision \(revision) only: what came before is not kept. Ask for a later one."
        ).with("type", .string(type)).with("keep", .string(LogPolicy.all.rawValue))
            .with("oldest", .int(revision))
    }

    // MARK: Revisions that stand in no log

    /// Goes on to a revision through commits of which the log has nothing.
    package func pass(through revision: Int) {
        if self.revision < revision { renumber(after: revision) }
    }

    // MARK: Commits

    private func isKept(_ store: Int32) -> Bool {
        types[Int(stores.pointer(store).pointee.type)].kept != .none
    }

    func isKept(_ owner: TimerOwner) -> Bool {
        switch owner {
        case .store(let store): isKept(store)
        case .type(let name): typesByName[name].map { $0.kept != .none } ?? true
        }
    }

    private func isKept(_ step: TimerStep) -> Bool {
        switch step {
        case .scheduled(let timer), .fired(let timer): isKept(timer.owner)
        case .cancelled(let owner, _, _): isKept(.type(String(owner.prefix { $0 != "/" })))
        case .advanced: true
        }
    }

    private func isKept(_ action: DispatchPlan.Action) -> Bool {
        action.steps.contains { plan.steps[$0].type.kept != .none }
    }

    /// Whether the log keeps something of the commit being made.
    package func keepsCommit(actions: Bool, _ details: CommitDetails?) -> Bool {
        guard let details else { return !actions || plan.actions.elements.contains(where: isKept) }
        if !details.definitions.isEmpty || !details.undefined.isEmpty || details.access != nil
            || !details.policies.isEmpty
        {
            return true
        }
        return actions && plan.actions.elements.contains(where: isKept)
            || details.timer.map(isKept) == true
            || (details.made + details.gone).contains(where: isKept)
            || details.replaced.contains { isKept($0.store) }
            || details.ended.flatMap { sessions[$0] }?.isLogged == true
    }

    /// What the log keeps of what a commit is besides its actions.
    func kept(_ details: CommitDetails) -> CommitDetails {
        let kept = CommitDetails(details.batch.map(kept).flatMap { $0.steps.isEmpty ? nil : $0 })
        kept.created = details.created.filter(isKept)
        kept.dropped = details.dropped.filter(isKept)
        // The stores of a type of which nothing was kept follow whole.
        kept.replaced = details.replaced.filter { store in
            isKept(store.store)
                && !details.policies.contains { $0.isFirst && $0.type == type(of: store.store).name }
        }
        (kept.ended, kept.reverted, kept.access) = (details.ended, details.reverted, details.access)
        (kept.definitions, kept.undefined) = (details.definitions, details.undefined)
        kept.policies = details.policies
        kept.timer = details.timer.flatMap { isKept($0) ? $0 : nil }
        return kept
    }

    private func kept(_ batch: BatchStores) -> BatchStores {
        let actions = plan.actions.elements
        var kept = BatchStores(
            steps: batch.steps.filter { isKept($0.store) }.map { step in
                step.behind(actions.prefix(step.actions).count(where: isKept))
            })
        kept.created = batch.created.filter(isKept)
        kept.dropped = batch.dropped.filter(isKept)
        kept.replaced = batch.replaced.filter(isKept)
        kept.passing = batch.passing.filter(isKept)
        return kept
    }

    /// The actions of the plan of which the log keeps something, with their indices in the batch where it keeps nothing of
    /// others; and whether it keeps every action whole.
    func keptActions() -> (actions: [DispatchPlan.Action], indices: [Int]?, isAll: Bool) {
        let all = plan.actions.elements
        // An action to every type is written as it is: in a machine made from the log, types of which it keeps nothing have no stores.
        let indices = all.indices.filter { isKept(all[$0]) }
        let kept = indices.map { all[$0] }
        return (
            kept, kept.count == all.count ? nil : indices,
            kept.count == all.count
                && kept.allSatisfy { $0.steps.allSatisfy { plan.steps[$0].type.kept != .none } }
        )
    }

    /// How many stores the commit being made has reached, though not all of it is kept: its key is remembered with that.
    func appendReach(_ batch: BatchStores?, to line: ByteWriter) {
        let apart = Set(batch?.steps.lazy.map(\.store) ?? [])
        let written = writeSet.elements.count {
            stores.pointer($0.store).pointee.creator != StoreRecord.view && !apart.contains($0.store)
        }
        let others = batch.map { addresses(of: $0) { _ in true } } ?? 0
        line.append(",\"matched\":", decimal: written + others)
        line.append(",\"changed\":", decimal: changed)
    }

    func type(of store: Int32) -> TypeEntry { types[Int(stores.pointer(store).pointee.type)] }
}
