import Synchronization

/// The recorders of a store's commits, called in the order of the commits.
@usableFromInline
final class Recorders<State: Flux.State>: Sendable {
    typealias Record = @Sendable (_ before: State, _ actions: [State.Action]) -> Void

    private struct Member {
        let number: Int
        let record: Record
    }

    private let members = Mutex<[Member]>([])
    @usableFromInline let count = Atomic<Int>(0)

    /// Whether there is any: mostly there is none, and nothing is done for it.
    @inlinable var isRecording: Bool { count.load(ordering: .acquiring) > 0 }

    func add(_ record: @escaping Record) -> Disposable {
        let number = members.withLock { members in
            let number = (members.last?.number ?? 0) + 1
            members.append(Member(number: number, record: record))
            count.store(members.count, ordering: .releasing)
            return number
        }
        return Disposable { [weak self] in self?.remove(number) }
    }

    private func remove(_ number: Int) {
        members.withLock { members in
            members.removeAll { $0.number == number }
            count.store(members.count, ordering: .releasing)
        }
    }

    /// One commit: the state before it, and the actions that reached the mutations. Without
    /// actions nothing is recorded.
    @usableFromInline
    func record(before: State, _ actions: [State.Action]) {
        guard !actions.isEmpty else { return }
        for member in members.withLock({ $0 }) { member.record(before, actions) }
    }
}
