import BusCluster
import Testing

/// A bus of many members, most of which read the log through a few others: the log has few readers, and all members end with the same
/// states.
@Suite struct ManyMembersTests {
    /// Meanwhile one relay vanishes and comes back, one stands still, and one cannot reach the log.
    @Test func tenRelaysServeAHundredMembers() throws {
        var setup = ClusterSimulation.Setup()
        setup.size = (members: 110, relays: 10)
        setup.isTroubled = false
        setup.time = (faulty: 4000, quiet: 1000)
        let simulation = try ClusterSimulation(seed: 1, setup)
        let (relays, others) = (simulation.nodes.prefix(10), simulation.nodes.dropFirst(10))
        var mostWithoutRelay = 0
        simulation.stepped = { [unowned simulation] in
            let withoutRelay = others.count { $0.relay?.log?.delivers != true }
            #expect(simulation.nodes.count { $0.log?.readsItself == true } <= 10 + withoutRelay)
            mostWithoutRelay = max(mostWithoutRelay, withoutRelay)
            let now = simulation.shared.now
            switch now - ClusterSimulation.begin {
            case 1500: simulation.crash(relays[3])
            case 2000: relays[5].log?.freeze(until: now + 800)
            case 2500: relays[7].log?.cutUntil = now + 500
            case 3000: try relays[3].start()
            default: break
            }
        }
        try simulation.run()
        // Those of two relays at once.
        #expect(mostWithoutRelay == 20)
        #expect(simulation.nodes.count { $0.log?.readsItself == true } == 10)
        let answered = simulation.clients.operations.filter { $0.answered != nil }
        #expect(answered.count > 50)
        #expect(Set(answered.map(\.node)).count > 5)
    }
}
