import BusJSON
import TestSupport
import Testing

/// A bus with lamps that switch themselves off, and other types that live by time.
enum TimedBus {
    static let lamp = """
        type: lamp
        initial: { on: false, times: 0, reason: null }
        actions:
          switchOn:
            payload: { minutes: { type: number, default: 5 } }
            set: { on: true }
            timers:
              off:
                in: { "*": [{ var: payload.minutes }, 60] }
                action: switchOff
                payload: { reason: timer }
          switchOff:
            payload: { reason: string? }
            set: { on: false, reason: { var: payload.reason } }
            increment: { times: 1 }
            timers: { off: null }
          blink:
            increment: { times: 1 }
            timers: { blink: { in: 1s, action: blink } }
          stop: { timers: { blink: null } }
          dawn:
            payload: { at: number }
            timers: { dawn: { at: { var: payload.at }, action: switchOn } }
          refuse:
            require: [{ if: { "==": [{ var: state.on }, true] }, else: it is dark }]
          touch: { when: { literal: false } }
          both: { set: { reason.x: 1 }, timers: { off: { in: 1s, action: switchOff } } }
        """

    /// Stores of it go after a minute without a dispatch.
    static let lease = """
        type: loan
        ttl: 1m
        initial: { n: 0 }
        actions:
          add: { increment: { n: 1 } }
          look: { when: { "==": [{ var: state.n }, -1] } }
          refuse: { require: [{ if: { "==": [{ var: state.n }, -1] }, else: never }] }
        """

    static func make(logged: Bool = false, _ change: (inout MemoryBus.Setup) -> Void = { _ in }) throws
        -> MemoryBus
    {
        var setup = MemoryBus.Setup()
        setup.definitions = [lamp, lease]
        setup.stores = ["lamp/a", "lamp/b", "counter/a"]
        if logged { setup.log = MemoryLog() }
        change(&setup)
        return try MemoryBus(setup)
    }
}

extension MemoryClient {
    /// The pending timers, each as `store name`.
    func timers() throws -> [String] {
        try reply(to: #"{"op":"timers"}"#)["timers"]?.array?.map { timer in
            "\(timer["store"]?.string ?? timer["type"]?.string ?? "") \(timer["timer"]?.string ?? "")"
        } ?? []
    }
}
