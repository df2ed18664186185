import BusJSON
import BusLogic
import BusProtocol
import BusSource

/// What follows from actions of some stores, or from a condition on them: a file of `fluxbus-effects`, compiled.
package struct Effect: Sendable {
    /// What is started for an event.
    package enum Deed: Sendable {
        /// A program with its arguments; its path is the same for every event.
        case run(path: String, arguments: [EffectValue])
        /// A job of the service manager.
        case unit(UnitVerb, UnitTemplate)
        /// A request over HTTP.
        case post(PostTemplate)
        /// An action on the bus.
        case dispatch(DispatchTemplate)
    }

    /// What becomes of events from while the service was down.
    package enum Downtime: String, Sendable, CaseIterable {
        case all, newest, none
    }

    /// Attempts after the first one: when, and how many.
    package struct Retry: Sendable, Equatable {
        package var times = 5
        package var first = Duration.seconds(1)
        package var most = Duration.seconds(60)

        /// The wait before a retry, counted from 1: each twice as long as the one before.
        package func wait(before retry: Int) -> Duration {
            var wait = first
            for _ in 1..<max(1, retry) where wait < most { wait *= 2 }
            return min(wait, most)
        }
    }

    /// So many in a length of time.
    package struct Rate: Sendable, Equatable {
        package let count: Int
        package let time: Duration

        package init(count: Int, time: Duration) { (self.count, self.time) = (count, time) }

        /// What an effect that causes itself may do where the file names no rate.
        package static let ofLoops = Rate(count: 10, time: .seconds(1))
    }

    /// A condition on the stores, which becomes true.
    package struct Becoming: Sendable, Equatable {
        /// The expression, as the bus takes it.
        package let text: String
        /// How long it has to hold.
        package let hold: Duration
    }

    package struct Limit: Sendable, Equatable {
        /// Events at a time.
        package var running = 4
        /// Whether all events are handled one after the other, and not only those of one store.
        package var isOneByOne = false
        package var rate: Rate?
    }

    package let name: String
    /// The stores that it is about, all of one type.
    package let pattern: AddressPattern
    package let actions: [String]
    /// Instead of actions: what has to become true.
    package let becoming: Becoming?
    package let condition: Expression?
    package let deed: Deed
    package let retry: Retry
    package let limit: Limit
    package let downtime: Downtime
    /// How long one attempt may take.
    package let timeout: Duration
    /// Whether something of it reads the state of the store.
    package let readsState: Bool
    package let place: Place

    /// The store on the bus that says where it stands.
    package let store: String
    package var type: String { String(decoding: pattern.type.pattern, as: UTF8.self) }
    /// The actions that it names, with their types.
    package var namedActions: [(type: String, action: String)] {
        var named = actions.map { (type, $0) }
        if case .dispatch(let template) = deed, let target = template.constant { named.append(target) }
        return named
    }
}

/// What the service manager is asked for.
package enum UnitVerb: String, Sendable, CaseIterable {
    case start, stop, restart, reload
}
