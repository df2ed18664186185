import Flux
import TestInterface
import Testing

import struct TestInterface.Binding
import struct TestInterface.State

/// A file that imports `Flux` and a module for user interfaces, whose `State` and `Binding` are property wrappers: two lines
/// say whose they are, and ours have names that nobody else has.
@Suite struct NameTests {
    struct Volume: FluxState, Equatable {
        fileprivate(set) var level = 5

        enum Action: Sendable { case set(Int) }

        struct Mutations: Flux.Mutations {
            func commit(_ action: Action, to state: inout Volume) {
                if case .set(let level) = action { state.level = level }
            }
        }
    }

    struct Slider {
        @State var isMoving = false
        @Binding var position: Int
    }

    @Test func bothMayBeImported() {
        let store = Store<Volume>(state: Volume())
        let level: FluxBinding<Int> = store.binding(\.level) { .set($0) }
        var slider = Slider(position: Binding(get: { level.value }, set: { level.value = $0 }))
        slider.isMoving = true
        slider.position = 7
        #expect(slider.isMoving)
        #expect(slider.position == 7)
        #expect(store.state.level == 7)
    }
}
