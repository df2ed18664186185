import Dispatch
import Flux
import Testing

struct Shop: State, Equatable {
    struct Item: Codable, Sendable, Equatable, Identifiable {
        var id: Int
        var amount = 1
    }

    var items: [Item] = []
    var customer: String?

    enum Action: Codable, Sendable {
        case add(Int)
        case change(id: Int, amount: Int)
        case greet(String?)
    }

    struct Mutations: ComposedMutations {
        let mutators: [Mutator<Shop>] = [
            Mutator(\.items) { action, items in
                switch action {
                case .add(let id): items.append(Item(id: id))
                case .change(let id, let amount):
                    try Lens(\[Item].self).element(id: id).update(&items) { $0.amount = amount }
                case .greet: return .ignored
                }
                return .handled
            },
            Mutator(\.customer) { action, customer in
                guard case .greet(let name) = action else { return .ignored }
                customer = name
                return .handled
            },
        ]
    }
}

enum FetchItems: Outcome {
    struct Offline: Error {}
    typealias Payload = [Int]
    typealias Failure = Offline
}

extension Computed<Shop> {
    func items(of atLeast: Int) -> [Shop.Item] { state.items.filter { $0.amount >= atLeast } }
}

/// The code of the article that compares words with the five libraries.
@Suite(.timeLimit(.minutes(10))) struct MovingToFluxTests {
    final class Reader: StoreSubscriber {
        let seen = Journal<String?>()
        func newState(_ customer: String?) { seen.write(customer) }
    }

    final class Label: Sendable {
        let seen = Journal<Int>()
        func show(_ number: Int) { seen.write(number) }
    }

    /// Tells the numbers that it shows, and whether it is asked to on the main thread.
    final class View: Sendable {
        let (shown, continuation) = AsyncStream.makeStream(of: (Int, Bool).self)
        private let mark = DispatchSpecificKey<Bool>()

        init() { DispatchQueue.main.setSpecific(key: mark, value: true) }

        func show(_ number: Int) {
            continuation.yield((number, DispatchQueue.getSpecific(key: mark) == true))
        }
    }

    let shown = Journal<Int>()

    @Sendable private func show(_ number: Int) { shown.write(number) }

    @Test func vueFluxAndRxReduce() async throws {
        let store = try Store<Shop>(state: Shop(), executor: .queue(.global()))
        let scope = DisposableScope()
        store.signal(\.items).observe(until: scope) { show($0.count) }
        store.actions.dispatch(.add(1))
        let items = try await store.state(after: .add(2)).items
        store.dispatch([.add(3), .add(4)])
        store.dispatch(atomically: [.add(5), .change(id: 5, amount: 2)])
        #expect(items.map(\.id) == [1, 2])
        var counts = store.signal(\.items).values.makeAsyncIterator()
        while let items = await counts.next(), items.count < 5 {}
        scope.dispose()
        #expect(shown.entries.starts(with: [0, 1, 2, 3, 4]))
    }

    @Test(.mainThread) func bindersAndComputed() async throws {
        let (label, view) = (Label(), View())
        let shop = try Store<Shop>(state: Shop())
        shop.signal(\.items.count).bind(to: label) { $0.show($1) }
        shop.signal(\.items.count).bind(to: view, on: .mainThread) { $0.show($1) }
        let before = shop.computed
        shop.actions.dispatch(.add(1))
        show(before.items.count)  // 0, as it was
        show(shop.computed.items.count)  // 1
        #expect(shown.entries == [0, 1])
        #expect(label.seen.entries == [0, 1], "a binder puts at once")
        var views = view.shown.makeAsyncIterator()
        for number in 0...1 {
            let (shown, isOnMainThread) = try #require(await views.next())
            #expect(shown == number && isOnMainThread)
        }
    }

    @Test func swiftFlux() throws {
        let dispatcher = Dispatcher()
        let numbers = ReduceStore<[Int]>([], dispatcher: dispatcher)
        let token = numbers.reduce(FetchItems.self) { numbers, result in
            if case .success(let fetched) = result { numbers = fetched }
        }
        dispatcher.register(FetchItems.self) { _, turn in
            try turn.waitFor([token])
            show(numbers.state.count)
        }
        try dispatcher.dispatch(FetchItems.self, .success([1, 2]))
        try dispatcher.dispatch(FetchItems.self, .failure(FetchItems.Offline()))
        #expect(shown.entries == [2, 2])
    }

    @Test func reSwift() async throws {
        let reader = Reader()
        let logger = Middleware<Shop> { action, context, next in
            next(action)
            show(context.state.items.count)
        }
        let store = try Store<Shop>(state: Shop(), middleware: [logger], initialAction: .greet(nil))
        store.subscribe(reader) { $0.select(\.customer).skip(when: { $1 == nil }) }
        let recorder = Recorder(store)
        try await store.run(Thunk { store in store.dispatch(.greet("Ann")) })
        try await recorder.replay(upTo: 0)
        #expect(reader.seen.entries == [nil, "Ann"])
        #expect(shown.entries == [0, 0])
        #expect(store.state == Shop())
    }

    @Test func fluxus() throws {
        let store = try Store<Shop>(state: Shop(items: [.init(id: 1), .init(id: 2, amount: 2)]))
        let customer = store.binding(\.customer) { .greet($0) }
        customer.value = "Bob"
        show(store.computed.items(of: 2).count)
        store.select { $0.items(of: 2).count }.observe { show($0) }
        #expect(store.state.customer == "Bob")
        #expect(shown.entries == [1, 1])
    }
}
