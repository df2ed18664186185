import BusEngine
import BusJSON
import BusLogic
import BusMachine

/// A complete bus in memory for one test: an engine with one client and a manual clock.
struct TrialBus {
    private let engine: Engine
    private let client: ConnectionID
    private var now: Int
    private var received: [UInt8] = []

    /// The most timers that may fire in one `advance`. More of them mean a timer that keeps setting itself.
    private static let mostTimers = 10_000

    init(_ types: [any StateType], at time: Int, uid: Int) {
        var configuration = EngineConfiguration(epoch: "test", ownUID: 0, version: "test")
        configuration.knownTypes = types
        engine = Engine(configuration, types: types)
        now = time
        engine.beginTurn(at: now)
        client = engine.connect(.unix(uid: uid, pid: 1))
    }

    /// The reply to a request.
    mutating func ask(_ request: JSONObject) -> JSON {
        let line = Array((JSON.object(request).encoded + "\n").utf8)
        settle()
        received = []
        line.withUnsafeBytes { engine.receive(client, $0) }
        settle()
        return received.split(separator: 10).compactMap { try? JSON(parsing: Array($0)) }.last ?? .null
    }

    func state(of store: String) -> JSONObject? { engine.state(at: store) }

    /// Moves the clock on and fires each timer when it is due. False if there are more than `mostTimers`.
    mutating func advance(milliseconds: Int) -> Bool {
        let end = now + milliseconds
        var timers = 0
        while let due = engine.nextTimer, due <= end {
            timers += 1
            if timers > Self.mostTimers { return false }
            now = max(now, due)
            settle()
        }
        now = end
        settle()
        return true
    }

    /// Lets the engine work until nothing is left to do. Where it waits for a deadline, the clock moves there.
    private mutating func settle() {
        while true {
            engine.beginTurn(at: now)
            engine.tick()
            engine.serveAll()
            engine.takeReady { _ in }
            _ = engine.takeOutputs()
            let output = engine.takeOutput(of: client)
            received += output
            if !output.isEmpty { continue }
            guard case .blocked = engine.status(of: client), let due = engine.nextDeadline else { return }
            now = max(now + 1, due)
        }
    }
}
