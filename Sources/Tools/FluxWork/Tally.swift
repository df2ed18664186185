import Flux

/// The smallest state there is: what is measured is the store.
package struct Tally: State, Equatable {
    package fileprivate(set) var value = 0

    package init() {}

    package enum Action: Sendable { case add(Int), reset }

    package struct Mutations: Flux.Mutations {
        package init() {}

        package func commit(_ action: Action, to state: inout Tally) {
            switch action {
            case .add(let amount): state.value &+= amount
            case .reset: state.value = 0
            }
        }
    }
}
