import BusHistory
import BusJSON
import BusLogic
import FluxBusDaemon
import TestModes
import TestSupport
import Testing

/// Versions of a type in code: another build of the daemon begins with a log that the one before wrote.
@Suite(.aloneOnly(because: "Another build begins with a snapshot in the log of one machine."))
struct CompiledMigrationTests {
    enum Earlier {
        struct Gauge: SharedState {
            var level = 0
            enum Action: Codable, Sendable { case raise(by: Int = 1) }
            static let actions = ActionList<Gauge>(.raise())
            static let published: PublishedValues<Gauge> = ["isHigh": { $0.level > 10 }]
            struct Mutations: Flux.Mutations {
                func commit(_ action: Gauge.Action, to state: inout Gauge) throws {
                    switch action {
                    case .raise(let by): state.level += by
                    }
                }
            }
        }
    }

    enum Later {
        struct Gauge: SharedState {
            var height = 0
            var unit = "m"
            static let version = 3
            enum Action: Codable, Sendable { case raise(by: Int = 1) }
            static let actions = ActionList<Gauge>(.raise())
            struct Mutations: Flux.Mutations {
                func commit(_ action: Gauge.Action, to state: inout Gauge) throws {
                    switch action {
                    case .raise(let by): state.height += by
                    }
                }
            }
            struct TooHigh: Error {}
            static func migrate(_ state: JSON, from version: Int) throws -> JSON {
                if version == 1 {
                    guard let level = state["level"]?.int, level < 1000 else { throw TooHigh() }
                    return ["height": .int(level * 2)]
                }
                return ["height": state["height"] ?? 0, "unit": "cm"]
            }
        }
    }

    private func bus(_ log: MemoryLog) throws -> MemoryBus {
        var setup = MemoryBus.Setup()
        setup.natives = try FluxBusDaemon.compile([Earlier.Gauge.self])
        setup.stores = ["gauge/a", "gauge/b"]
        setup.log = log
        let bus = try MemoryBus(setup)
        let client = bus.connect(uid: 0)
        _ = try client.ask(#"{"op":"dispatch","store":"gauge/b","action":"raise","payload":{"by":20}}"#)
        return bus
    }

    private func states(_ bus: MemoryBus) throws -> JSON? {
        try bus.connect().ask(#"{"op":"get","type":"gauge"}"#).last?["states"]
    }

    @Test func aLaterBuildMigratesTheStates() throws {
        let log = MemoryLog()
        let bus = try bus(log)
        // What a build with code leaves when it stops.
        log.takeSnapshot(bus.engine.snapshot(), at: bus.engine.revision)
        let natives = try FluxBusDaemon.compile([Later.Gauge.self])
        let next = try bus.crash { $0.natives = natives }
        #expect(
            try states(next) == [
                "gauge/a": ["height": 0, "unit": "cm"], "gauge/b": ["height": 40, "unit": "cm"],
            ])
        let definition = try next.connect().ask(#"{"op":"types","type":"gauge"}"#).last?["types"]?[0]
        #expect(definition?["version"] == 3)
        let client = next.connect()
        _ = try client.ask(#"{"op":"dispatch","type":"gauge","action":"raise"}"#)
        // And that build begins again with all of it, with its own code.
        let again = try next.crash { _ in }
        #expect(again.engine.stateDigest == next.engine.stateDigest)
        let earlier = try FluxBusDaemon.compile([Earlier.Gauge.self])
        #expect(throws: (any Error).self) { try again.crash { $0.natives = earlier } }
    }

    /// Without the snapshot the actions would have to be applied again, and the code for that is gone: silence would lose
    /// them.
    @Test func actionsOfEarlierCodeAreNeverLeftOut() throws {
        let bus = try bus(MemoryLog())
        let natives = try FluxBusDaemon.compile([Later.Gauge.self])
        do {
            _ = try bus.crash { $0.natives = natives }
            Issue.record("It began.")
        } catch let failure as PastFailure {
            #expect(failure.message.contains("gauge/b can't apply raise again"), "\(failure.message)")
            #expect(failure.message.contains("start that build once more and stop it"), "\(failure.message)")
        }
    }

    @Test func aStateThatCannotBeMigratedKeepsTheBuildFromStarting() throws {
        let log = MemoryLog()
        let bus = try bus(log)
        _ = try bus.connect().ask(
            #"{"op":"dispatch","store":"gauge/b","action":"raise","payload":{"by":5000}}"#)
        log.takeSnapshot(bus.engine.snapshot(), at: bus.engine.revision)
        let natives = try FluxBusDaemon.compile([Later.Gauge.self])
        do {
            _ = try bus.crash { $0.natives = natives }
            Issue.record("It began.")
        } catch {
            let message = "\(error)"
            #expect(message.contains("gauge/b: the step from version 1 to 2 fails: "), "\(message)")
        }
    }
}
