import BusJSON
import BusLogic
import FluxBus

/// One request of an import, with its place in the file.
struct ImportStep {
    /// The place of a request in an import: the recorded commit's revision, and which of its requests it is. The same
    /// file, and any other export of the same history, gives the same places.
    struct Place: Comparable {
        let revision: Int
        let part: Int

        static func < (left: Place, right: Place) -> Bool {
            (left.revision, left.part) < (right.revision, right.part)
        }

        /// The key of a request at this place.
        func key(in epoch: String) -> String { "\(Self.prefix(epoch))\(revision).\(part)" }

        /// The prefix of the keys of every import of one history.
        static func prefix(_ epoch: String) -> String { "import:\(epoch):" }

        init(revision: Int, part: Int) {
            self.revision = revision
            self.part = part
        }

        /// The place in a key; nil for a key that is none of an import of this history.
        init?(key: String, epoch: String) {
            let prefix = Self.prefix(epoch)
            guard key.hasPrefix(prefix) else { return nil }
            let numbers = key.dropFirst(prefix.count).split(separator: ".").map { Int($0) }
            guard numbers.count == 2, let revision = numbers[0], let part = numbers[1] else { return nil }
            self.init(revision: revision, part: part)
        }
    }

    let place: Place
    var request: BusRequest

    /// The timer of a recorded firing may not be there: then nothing is amiss.
    func isExpected(_ error: BusError) -> Bool {
        request.op == "cancel" && [.unknownTimer, .unknownStore].contains(error.code)
    }

    /// The requests of a recorded commit: its actions as one batch, then the stores that it
    /// created, dropped or reverted.
    ///
    /// A revert is imported as a drop and a new creation with that state: the revision that it reverted to has another
    /// number here, or lies before the file. Timers that actions set are set by them here, too; so where one fired in the
    /// recording, it is taken away, and its action comes from the file; one that repeats stays. Dispatches that were still to come are not
    /// scheduled: only those that had come are part of what happened.
    static func steps(
        of commit: RecordedCommit, under definitions: RecordedDefinitions, epoch: String
    ) -> [ImportStep] {
        var requests: [BusRequest] = []
        if let timer = commit.line["fired"], timer["every"] == nil {
            requests.append(
                BusRequest(
                    "cancel", ["store": timer["store"], "type": timer["type"], "timer": timer["timer"]]))
        }
        if let steps = commit.steps {
            requests.append(
                BusRequest("dispatch", ["actions": .array(batch(steps, of: commit, definitions))]))
            return requests.enumerated().map { part, request in
                ImportStep(.init(revision: commit.revision, part: part), request, epoch)
            }
        }
        if !commit.actions.isEmpty {
            requests.append(BusRequest("dispatch", ["actions": .array(commit.actions)]))
        }
        for member in commit.created {
            var request = create(member.key, member.value, definitions)
            // A store that the configuration listed there may be listed here, too.
            if commit.isByDaemon { request.set("ifMissing", true) }
            request.set("ttl", commit.line["ttl"])
            requests.append(request)
        }
        for address in commit.dropped { requests.append(BusRequest("drop", ["store": .string(address)])) }
        if let (store, _) = commit.reverted, let state = commit.states[store] {
            requests.append(BusRequest("drop", ["store": .string(store)]))
            requests.append(create(store, state, definitions))
        }
        return requests.enumerated().map { part, request in
            ImportStep(.init(revision: commit.revision, part: part), request, epoch)
        }
    }

    /// The elements of a batch that created or dropped stores.
    private static func batch(
        _ steps: [JSON], of commit: RecordedCommit, _ definitions: RecordedDefinitions
    ) -> [JSON] {
        var actions = commit.actions[...]
        return steps.flatMap { step -> [JSON] in
            if let count = step.int {
                defer { actions = actions.dropFirst(count) }
                return Array(actions.prefix(count))
            }
            guard step["op"] == "create", let store = step["store"]?.string,
                let state = step["state"] ?? commit.created[store]
            else { return [step] }
            var creation: JSONObject = ["op": "create"]
            creation["ttl"] = step["ttl"]
            for member in create(store, state, definitions).members { creation[member.name] = member.value }
            return [.object(creation)]
        }
    }

    /// The creation of the file's store number `index`, as it was at the file's base. An existing store is left alone.
    static func base(
        _ index: Int, _ address: String, _ state: JSONObject, _ definitions: RecordedDefinitions,
        in header: Recording.Header
    ) -> ImportStep {
        var request = create(address, .object(state), definitions)
        request.set("ifMissing", true)
        return ImportStep(.init(revision: header.base, part: index), request, header.epoch)
    }

    private init(_ place: Place, _ request: BusRequest, _ epoch: String) {
        self.place = place
        self.request = request
        self.request.set("key", .string(place.key(in: epoch)))
    }

    /// The bus migrates the state, if its type has a later version than the recorded one.
    private static func create(
        _ address: String, _ state: JSON, _ definitions: RecordedDefinitions
    ) -> BusRequest {
        guard let definition = definitions.earlier(of: address), let members = state.object else {
            return BusRequest("create", ["store": .string(address), "state": state])
        }
        return BusRequest(
            "create",
            [
                "store": .string(address), "state": .object(definition.withoutComputed(members)),
                "version": .int(definition.definedVersion),
            ])
    }
}
