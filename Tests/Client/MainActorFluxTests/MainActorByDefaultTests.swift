import Flux
import Foundation
import TestFiles
import Testing

/// The code of the article "Main actor by default", compiled in a module where that is so.
struct Volume: State, Equatable {
    private(set) var level = 5

    enum Action: Codable, Sendable { case set(Int) }

    struct Mutations: Flux.Mutations {
        func commit(_ action: Action, to state: inout Volume) {
            switch action {
            case .set(let level): state.level = level
            }
        }
    }
}

nonisolated extension Computed<Volume> {
    var isLoud: Bool { state.level > 7 }
}

nonisolated extension Actions<Volume> {
    func mute() { dispatch(.set(0)) }
}

@Suite(.timeLimit(.minutes(10))) struct MainActorByDefaultTests {
    final class Label {
        var text = ""
    }

    @Test func everythingIsWrittenAsEver() async throws {
        let label = Label()
        var shown: [String] = []
        func show(_ level: Int, _ isLoud: Bool) { shown.append("\(level) \(isLoud)") }
        let store = Store<Volume>(state: Volume())
        let volume = ObservableState(store)
        store.signal(\.level).observe(on: MainActor.shared) { label.text = "\($0)" }
        store.actions.mute()
        show(volume.level, store.select(\.isLoud).value)
        #expect(shown == ["0 false"])
        #expect(label.text == "0")
        store.dispatch(.set(9))
        let fade = Thunk<Volume> { store in
            while store.state.level > 0 { store.dispatch(.set(store.state.level - 1)) }
        }
        try await store.run(fade)
        #expect(store.state.level == 0)
    }

    @Test func codeOfTheArticleIsCompiledHere() throws {
        let page = try MarkdownPage("Sources/Client/Flux/Flux.docc/MainActorByDefault.md")
        #expect(!page.blocks("swift").isEmpty)
        #expect(try page.swiftBlocks(missingIn: #filePath) == [])
    }
}
