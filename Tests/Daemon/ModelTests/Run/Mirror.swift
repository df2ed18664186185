import BusJSON
import TestSupport

/// A subscription as its client sees it, and what the model says that it must see.
struct Mirror {
    let filter: Filter
    let hasCause: Bool
    let isOfActions: Bool
    let format: String
    var copy: ContractMirror
    var revision: Int
    /// Its client reads, so each commit has its own event at once.
    var isLive = true
    /// The daemon before has not told all: the one that goes on knows which stores have changed, and not where.
    var isOfDaemonBefore = false
    /// What came in parts and is not complete.
    private var touched: Set<String> = []

    init(_ request: JSONObject, _ copy: ContractMirror, at revision: Int) {
        filter = Filter(request)
        hasCause = request["cause"] == true
        isOfActions = request["actions"] == true
        format = request["format"]?.string ?? "merge"
        (self.copy, self.revision) = (copy, revision)
    }

    /// Takes an event, and compares the copy at its revision.
    mutating func take(_ event: JSON, _ model: ModelBus, isFirst: Bool) throws {
        let before = revision
        do { try copy.take(event) } catch {
            throw Difference(
                subject: "an event that does not follow", model: "from \(revision)", bus: event.encoded)
        }
        touched.formUnion(event["states"]?.object?.keys ?? [])
        touched.formUnion(event["changes"]?.object?.keys ?? [])
        touched.formUnion(event["dropped"]?.array?.compactMap(\.string) ?? [])
        for change in event["changes"]?.object ?? [:] {
            guard
                format == "merge"
                    ? change.value.object != nil : format == "patch" && change.value.array != nil
            else { throw Difference(subject: "format", model: format, bus: event.encoded) }
        }
        if event["more"] == true { return }
        defer { touched = [] }
        guard let told = event["revision"]?.int, told <= model.revision, told >= before else {
            throw Difference(
                subject: "revision of an event", model: "\(before)...\(model.revision)", bus: event.encoded)
        }
        revision = told
        let expected = filter.shown(model.commits[told].states)
        guard copy.states == expected else {
            throw Difference(
                subject: "mirror after an event", model: JSON.object(expected.json).encoded,
                bus: "\(JSON.object(copy.states.json).encoded) by \(event.encoded)")
        }
        guard event["event"] == "change" else { return }
        try checkNeed(event, from: before, to: told, model, isFirst: isFirst)
    }

    /// An event holds only what changed, and has the members that belong to it.
    private func checkNeed(
        _ event: JSON, from before: Int, to told: Int, _ model: ModelBus, isFirst: Bool
    ) throws {
        if event["reset"] == true { return }
        // Only a resumption may tell a store that changed elsewhere, by its client or by the daemon.
        let scope = isFirst || isOfDaemonBefore ? filter.byAddress : filter
        var changed: Set<String> = []
        if before < told {
            for revision in before + 1...told {
                let left = scope.shown(model.commits[revision - 1].states)
                let right = scope.shown(model.commits[revision].states)
                for address in Set(left.keys).union(right.keys) where left[address] != right[address] {
                    changed.insert(address)
                }
            }
        }
        let needless = touched.subtracting(changed)
        guard needless.isEmpty else {
            throw Difference(
                subject:
                    "a store is told that stayed equal, \(isFirst ? "resumed" : isLive ? "live" : "late")",
                model: "\(changed.sorted()) changed from \(before) to \(told)", bus: event.encoded)
        }
        if !isFirst, changed.isEmpty {
            throw Difference(
                subject: "a change of nothing", model: "none from \(before) to \(told)", bus: event.encoded)
        }
        // Several commits may come as one: `coalesced` then says over how many.
        if let coalesced = event["coalesced"]?.int, coalesced != told - before || isLive && !isFirst {
            throw Difference(
                subject: "coalesced", model: isLive && !isFirst ? "none" : "\(told - before)",
                bus: event.encoded)
        }
        if hasCause, event["coalesced"] == nil, !touched.isEmpty, !isFirst || told == before + 1 {
            try checkCause(event, model.commits[told], model)
        }
    }

    private func checkCause(_ event: JSON, _ commit: ModelBus.Commit, _ model: ModelBus) throws {
        let expected: JSON = ["actions": .array(commit.actions), "by": commit.by, "time": .int(commit.time)]
        let cause = Reply.inMilliseconds(event["cause"] ?? .null, model)
        if cause != expected {
            throw Difference(subject: "cause", model: expected.encoded, bus: event.encoded)
        }
    }

    /// What a live subscription must have been told of one commit: whether there is an event.
    func isTold(of revision: Int, _ model: ModelBus) -> Bool {
        filter.shown(model.commits[revision].states) != filter.shown(model.commits[revision - 1].states)
    }
}

extension [String: JSON] {
    var json: JSONObject { reduce(into: [:]) { $0[$1.key] = $1.value } }
}
