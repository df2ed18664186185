import Synchronization

/// Those who keep a record of what a store commits, called in the order of the commits.
final class Recorders<State: Flux.State>: Sendable {
    typealias Record = @Sendable (_ before: State, _ actions: [State.Action]) -> Void

    private let members = Mutex<[(number: Int, record: Record)]>([])

    func add(_ record: @escaping Record) -> Disposable {
        let number = members.withLock { members in
            let number = (members.last?.number ?? 0) + 1
            members.append((number, record))
            return number
        }
        return Disposable { [weak self] in
            self?.members.withLock { members in members.removeAll { $0.number == number } }
        }
    }

    /// One commit: the state before it, and the actions that reached the mutations. None is no commit to remember.
    func record(before: State, _ actions: [State.Action]) {
        guard !actions.isEmpty else { return }
        for member in members.withLock({ $0 }) { member.record(before, actions) }
    }
}
