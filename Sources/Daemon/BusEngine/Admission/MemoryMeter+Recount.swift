import BusMachine

/// What the memory limit and the shares of users count is kept as it changes: what is added has to be what is taken off.
/// Simulations compare it with a recount after every step.
extension MemoryMeter {
    /// What was counted wrong, or is less than nothing; empty while all is right.
    func miscounts(of users: Users) -> [String] {
        (recount + users.all.flatMap(recount)).filter { !$0.isRight }
            .map { "\($0.name): \($0.kept) instead of \($0.counted)" }
    }

    private var recount: [MemoryCount] {
        var (states, timers) = (0, 0)
        for type in machine.types {
            for index in type.members where index >= 0 {
                states += machine.stores.pointer(index).pointee.state.encodedSize
            }
        }
        machine.timers.forEach { timers += $0.size }
        return [
            MemoryCount("states", machine.stateBytes, states),
            MemoryCount("timers", machine.timers.bytes, timers),
            MemoryCount("reads", reads.bytes, reads.recount), MemoryCount("maps", maps.bytes, maps.recount),
        ] + connections.recount + hub.recount
    }

    private func recount(of user: User) -> [MemoryCount] {
        var (connected, subscriptions) = (0, 0)
        for case let connection? in connections.all where connection.user === user {
            connected += 1
            subscriptions += connection.delivery.subscriptions.count
        }
        let name = "user \(user.number)"
        return [
            MemoryCount("\(name): connections", user.connections, connected),
            MemoryCount("\(name): subscriptions", user.subscriptions, subscriptions),
            MemoryCount("\(name): shapes", user.shapes, hub.groups.all.values.count { $0.maker === user }),
            MemoryCount("\(name): wills", min(user.willBytes, 0), 0),
        ]
    }
}
