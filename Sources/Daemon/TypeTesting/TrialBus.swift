import BusEngine
import BusJSON
import BusLogic
import BusMachine

/// A whole bus in memory for one test: an engine with one client, and a clock that stands until it is told to go on.
struct TrialBus {
    private let engine: Engine
    private let client: ConnectionID
    private var now: Int
    private var received: [UInt8] = []

    /// Timers that may be due in one stretch of time: more is a timer that sets itself again and again.
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

    /// Lets time pass; timers are carried out at their times. False if so many are due that it gives up.
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

    /// Lets the engine work until nothing is left to do, and time pass where it waits for that.
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
