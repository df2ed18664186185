import Flux
import Testing

/// The code of the article.
struct Search: State, Equatable {
    fileprivate(set) var isRunning = false
    fileprivate(set) var results: [String] = []

    enum Action: Codable, Sendable { case began, found([String]) }

    struct Mutations: Flux.Mutations {
        func commit(_ action: Action, to search: inout Search) {
            switch action {
            case .began: search.isRunning = true
            case .found(let results): search = Search(isRunning: false, results: results)
            }
        }
    }
}

/// One at a time: the article dispatches to all stores of the type.
@Suite(.timeLimit(.minutes(10)), .serialized) struct EffectsArticleTests {
    private let time = ManualClock()
    private let asked = Journal<String>()

    private func pages(about text: String) async throws -> [String] {
        asked.write(text)
        return [text]
    }

    func find(_ text: String) -> Thunk<Search> {
        Thunk { store in
            store.dispatch(.began)
            store.dispatch(.found(try await pages(about: text)))
        }
    }

    @Test func effects() async throws {
        let logger = Middleware<Search> { action, _, next in next(action) }
        let titles = AsyncStream<String> { continuation in
            for title in ["one", "two"] { continuation.yield(title) }
            continuation.finish()
        }
        let search = Store<Search>(state: Search(), clock: time.clock)
        try await search.run(find("flux"))  // returns when it has ended, or throws
        let task = search.dispatch(find("bus"))  // a task, which runs beside
        try await task.value
        #expect(search.state.results == ["bus"])
        search.dispatch(find("flux").cancellable(id: "find", cancelInFlight: true))
        search.cancel(id: "find")
        search.dispatch(find("f").debounced(id: "find", for: .milliseconds(300)))
        search.dispatch(find("fl").debounced(id: "find", for: .milliseconds(300)))
        search.dispatch(find("again").throttled(id: "refresh", for: .seconds(60)))
        search.dispatch(find("saved").throttled(id: "save", for: .seconds(1), latest: true))
        #expect(search.cancellableCount >= 1)
        await time.advance(by: .milliseconds(300))
        // The first of a throttled identity begins at once, the debounced one now.
        while !Set(asked.entries).isSuperset(of: ["again", "saved", "fl"]) { await Task.yield() }
        #expect(!asked.entries.contains("f"))
        while search.cancellableCount > 0 { await Task.yield() }
        try await search.run([
            .action(.began),
            .sequence(titles.map { .found([$0]) }),
            .thunk(find("more")),
            .atomically([.began, .found([])]),
        ])
        #expect(search.state == Search(isRunning: false, results: []))
        #expect(asked.entries.last == "more")
        let states = try await Store<Search>.dispatchToAll(.found([]))
        #expect(states == [search.state])
        let logging = search.add(logger, at: .first)
        logging.dispose()
    }
}
