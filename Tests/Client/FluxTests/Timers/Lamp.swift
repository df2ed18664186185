import Flux

/// A lamp that switches itself off.
struct Lamp: State, Equatable {
    fileprivate(set) var isOn = false
    /// What has switched it off.
    fileprivate(set) var reasons: [String] = []
    fileprivate(set) var blinks = 0

    enum Action: Codable, Sendable, Equatable {
        case switchOn(seconds: Int = 300)
        case switchOff(reason: String = "hand")
        case blink(every: Int = 1000)
        case setMany(count: Int)
        case fail
        case failInTheRule
    }

    struct Failure: Error, Equatable {}

    static let timers = TimerRule<Lamp> { action, lamp in
        switch action {
        case .switchOn(let seconds):
            return [.set("off", after: .seconds(seconds), .switchOff(reason: "timer"))]
        case .switchOff: return [.cancel("off")]
        // The state is the one before the action.
        case .blink(let pause):
            return lamp.blinks < 9
                ? [.set("blink", after: .milliseconds(pause), .blink(every: pause))] : [.cancel("blink")]
        case .setMany(let count):
            return (0..<count).map { .set("t\($0)", after: .seconds(1 + $0), .switchOff(reason: "\($0)")) }
        case .fail: return [.set("never", after: .seconds(1), .blink())]
        case .failInTheRule: throw Failure()
        }
    }

    struct Mutations: Flux.Mutations {
        func commit(_ action: Action, to state: inout Lamp) throws {
            switch action {
            case .switchOn: state.isOn = true
            case .switchOff(let reason):
                state.isOn = false
                state.reasons.append(reason)
            case .blink: state.blinks += 1
            case .setMany: break
            case .fail: throw Failure()
            case .failInTheRule: state.isOn = true
            }
        }
    }
}
