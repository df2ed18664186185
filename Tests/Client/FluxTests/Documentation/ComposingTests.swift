import Flux
import Testing

/// The code of the article.
@Suite(.timeLimit(.minutes(10))) struct ComposingTests {
    struct Lamp: State, Equatable {
        fileprivate(set) var brightness = 0

        enum Action: Codable, Sendable { case dim(to: Int) }

        struct Mutations: Flux.Mutations {
            func commit(_ action: Action, to lamp: inout Lamp) {
                switch action {
                case .dim(let brightness): lamp.brightness = brightness
                }
            }
        }
    }

    struct Room: State, Equatable {
        fileprivate(set) var lamp = Lamp()
        fileprivate(set) var note = ""

        enum Action: Codable, Sendable { case lamp(Lamp.Action), describe }

        struct Mutations: ComposedMutations {
            let mutators: [Mutator<Room>] = [
                Mutator(\.lamp, mutations: Lamp.Mutations()) {
                    if case .lamp(let action) = $0 { action } else { nil }
                },
                Mutator(\.note) { action, note, whole in
                    guard case .describe = action else { return .ignored }
                    note = "The lamp is at \(whole.lamp.brightness)."
                    return .handled
                },
            ]
        }
    }

    private let seen = Journal<String>()

    private func print(_ text: String) { seen.write(text) }

    func nightLight(_ lamp: some StateStore<Lamp>) async throws {
        try await lamp.state(after: .dim(to: 5))
        print("\(lamp.state.brightness)")
    }

    @Test func composing() async throws {
        let seen = seen
        @Sendable func print(_ text: String) { seen.write(text) }
        let room = try Store<Room>(state: Room())
        let lamp = room.scoped(\.lamp) { .lamp($0) }
        lamp.signal(\.brightness).observe { print("\($0)") }
        lamp.dispatch(.dim(to: 40))
        room.dispatch(.describe)
        print(room.state.note)  // The lamp is at 40.
        #expect(seen.entries == ["0", "40", "The lamp is at 40."])
        try await nightLight(lamp)
        try await nightLight(Store<Lamp>(state: Lamp()))
        #expect(seen.entries.dropFirst(3) == ["5", "5", "5"])
    }
}
