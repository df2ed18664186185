import Synchronization

/// The identity of a thunk: any value.
struct ThunkID: Hashable, Sendable {
    let base: any Hashable & Sendable

    static func == (one: ThunkID, other: ThunkID) -> Bool { AnyHashable(one.base) == AnyHashable(other.base) }

    func hash(into hasher: inout Hasher) { hasher.combine(AnyHashable(base)) }
}

/// The thunks with identities that are under way in a store. One that ends leaves it.
final class ThunkTable: Sendable {
    private struct Contents {
        var tasks: [ThunkID: [UInt64: Task<Void, any Error>]] = [:]
        var number: UInt64 = 0
    }

    private let contents = Mutex(Contents())

    /// How many are under way.
    var count: Int { contents.withLock { $0.tasks.values.reduce(0) { $0 + $1.count } } }

    /// Starts the work; with `cancelInFlight`, after cancelling all that is under way under the identity.
    func start(
        _ id: ThunkID, cancelInFlight: Bool, _ work: @escaping @Sendable () async throws -> Void
    ) -> Task<Void, any Error> {
        let (task, former) = contents.withLock { contents in
            contents.number += 1
            let number = contents.number
            // It can't end, and leave, before it is entered: for that it needs the lock.
            let task = Task { [weak self] in
                defer { self?.end(id, number) }
                try await work()
            }
            let former = cancelInFlight ? contents.tasks.removeValue(forKey: id) : nil
            contents.tasks[id, default: [:]][number] = task
            return (task, former)
        }
        // Outside the lock: what hears of a cancellation may start or cancel others.
        for task in (former ?? [:]).values { task.cancel() }
        return task
    }

    /// Cancels all that is under way under the identity.
    func cancel(_ id: ThunkID) {
        let tasks = contents.withLock { $0.tasks.removeValue(forKey: id) }
        for task in (tasks ?? [:]).values { task.cancel() }
    }

    private func end(_ id: ThunkID, _ number: UInt64) {
        contents.withLock { contents in
            contents.tasks[id]?[number] = nil
            if contents.tasks[id]?.isEmpty == true { contents.tasks[id] = nil }
        }
    }
}
