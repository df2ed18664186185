import BusJSON
import BusLogic
import BusState

/// What somebody who sees only parts of states learns of their changes: the same as if there were nothing else in them.
extension StateMachine {
    package func visibility(of store: Int32, to grants: Grants) -> Grants.Visibility {
        let record = stores.pointer(store)
        return grants.visibility(of: record.pointee.name, ofType: types[Int(record.pointee.type)].name)
    }

    /// The revision of the last change of a store that somebody has seen; nil grants see everything.
    package func revision(of store: Int32, seenBy grants: Grants?) -> Int {
        let record = stores.pointer(store)
        guard let grants, grants.showsParts, let parts else { return record.pointee.revision }
        let rules = grants.rulesOfParts(
            of: record.pointee.name, ofType: types[Int(record.pointee.type)].name)
        return rules.map { parts.revision(of: store, by: $0) }.max() ?? record.pointee.revision
    }

    /// The stores that the applied plan reaches, without those that its batch creates or drops, as far as somebody sees
    /// them; nil where that is all of them.
    package func seenWrites(by grants: Grants?, without batch: BatchStores?) -> [Int32]? {
        let apart = Set(batch?.steps.lazy.map(\.store) ?? [])
        guard let grants, !grants.readsEverything,
            !plan.steps.elements.allSatisfy({ grants.showsAll(ofType: $0.type.name) })
                || !apart.allSatisfy({
                    grants.showsAll(ofType: types[Int(stores.pointer($0).pointee.type)].name)
                })
        else { return nil }
        return writeSet.elements.map(\.store).filter { store in
            if apart.contains(store) { return false }
            let record = stores.pointer(store)
            return grants.shows(record.pointee.name, ofType: types[Int(record.pointee.type)].name)
        }
    }

    /// How many of these stores the last commit has changed, as far as somebody with these grants sees them.
    package func changed(of seen: [Int32], seenBy grants: Grants?) -> Int {
        seen.count { revision(of: $0, seenBy: grants) == revision }
    }

    /// Begins to follow the parts that the rules show: all that changed before has this revision.
    func followParts(since revision: Int) {
        parts = followsParts ? PartRevisions(access, since: revision) : nil
    }

    /// From now on parts are followed, if they were not before.
    package func beginFollowingParts() {
        if followsParts { return }
        followsParts = true
        followParts(since: revision)
    }

    /// A store was written, and differs.
    func noteParts(_ parts: PartRevisions, at place: Int, _ store: Int32) {
        let type = Int(stores.pointer(store).pointee.type)
        guard parts.mayShow(type, { types[type].name }) else { return }
        if entries.isEmpty { gatherEntries(at: place) }
        let record = stores.pointer(store)
        note(parts, store) { $0.isTouched(by: entries.elements[...], of: record.pointee.state) }
    }

    /// A store's state was replaced.
    func noteParts(_ parts: PartRevisions, of store: Int32, before: JSONObject) {
        let record = stores.pointer(store)
        note(parts, store) { $0.project(before) != $0.project(record.pointee.state) }
    }

    /// A store was created.
    func noteParts(_ parts: PartRevisions, ofCreated store: Int32) { note(parts, store) { _ in true } }

    private func note(_ parts: PartRevisions, _ store: Int32, where isTouched: (Selection) -> Bool) {
        let record = stores.pointer(store)
        parts.note(
            store, record.pointee.name, ofType: types[Int(record.pointee.type)].name, revision
        ) { rule in rule.parts.map(isTouched) ?? false }
    }
}
