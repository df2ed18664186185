import Flux

/// The smallest state with all that matters: a default, an error, and a mutation that misbehaves.
struct Counter: State, Equatable, Codable {
    fileprivate(set) var count = 0
    fileprivate(set) var note: String?

    enum Action: Codable, Sendable, Equatable {
        case increment(by: Int = 1)
        case reset
        case touch
        case write(String?)
        case fail
    }

    struct Failure: Error, Equatable {}

    init(count: Int = 0) { self.count = count }

    struct Mutations: Flux.Mutations {
        func commit(_ action: Action, to state: inout Counter) throws {
            switch action {
            case .increment(let amount): state.count += amount
            case .reset: state.count = 0
            case .touch: break
            case .write(let note): state.note = note
            case .fail:
                state.count = -1
                throw Failure()
            }
        }
    }
}

extension Actions<Counter> {
    func increment(by amount: Int = 1) { dispatch(.increment(by: amount)) }
    func reset() { dispatch(.reset) }
}

extension Computed<Counter> {
    var isEven: Bool { state.count.isMultiple(of: 2) }
    func exceeds(_ limit: Int) -> Bool { state.count > limit }
}
