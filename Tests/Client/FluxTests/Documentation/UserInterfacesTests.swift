import Flux
import Observation
import Synchronization
import Testing

/// The code of the article "User interfaces".
struct Volume: State, Equatable {
    fileprivate(set) var level = 5
    fileprivate(set) var title = "Radio"

    enum Action: Codable, Sendable { case set(Int), rename(String) }

    struct Mutations: Flux.Mutations {
        func commit(_ action: Action, to state: inout Volume) {
            switch action {
            case .set(let level): state.level = level
            case .rename(let title): state.title = title
            }
        }
    }
}

nonisolated extension Computed<Volume> {
    var isLoud: Bool { state.level > 7 }
}

final class VolumeController: MainActorSubscriber {
    private(set) var shown: [Int] = []

    func newState(_ level: Int) { shown.append(level) }
}

@MainActor
@Suite(.mainThread, .timeLimit(.minutes(10))) struct UserInterfacesTests {
    @MainActor final class Label {
        var text = ""
        var isHidden = false
    }

    @Test func views() async {
        let redrawn = Mutex(0)
        let shown = Journal<String>()
        @Sendable func redraw() { redrawn.withLock { $0 += 1 } }
        func print(_ title: String) { shown.write(title) }
        let store = Store<Volume>(state: Volume())
        let volume = ObservableState(store)
        withObservationTracking {
            print(volume.title)
        } onChange: {
            redraw()
        }
        volume.actions.dispatch(.set(9))  // nobody has read the level
        volume.actions.dispatch(.rename("Kitchen"))  // redraws
        await settleMainThread()
        #expect(redrawn.withLock { $0 } == 1)
        #expect(shown.entries == ["Radio"])
        #expect(volume.title == "Kitchen")
        #expect(volume.isLoud)
        let limit = 3
        let isAbove = ObservableValue(store.select { $0.level > limit })
        #expect(isAbove.value)
    }

    @Test func objectsOfTheMainActor() async {
        let store = Store<Volume>(state: Volume())
        let label = Label()
        let controller = VolumeController()
        let scope = DisposableScope()
        store.signal(\.title).observe(until: scope, on: MainActor.shared) { label.text = $0 }
        store.signal(\.title).bind(to: label, on: MainActor.shared, \.text)
        store.signal(\.level).bind(to: label, on: MainActor.shared) { $0.isHidden = $1 == 0 }
        store.subscribe(controller) { $0.select(\.level) }
        store.dispatch([.set(0), .rename("Kitchen")])
        await settleMainThread()
        #expect(label.text == "Kitchen")
        #expect(label.isHidden)
        #expect(controller.shown == [5, 0])
    }
}
