import Flux
import Foundation
import TestFiles
import Testing

// MARK: VueFlux

struct CounterState: State, Equatable {
    fileprivate(set) var count = 0

    enum Action: Sendable { case increment, decrement }

    struct Mutations: Flux.Mutations {
        func commit(_ action: Action, to state: inout CounterState) {
            switch action {
            case .increment: state.count += 1
            case .decrement: state.count -= 1
            }
        }
    }
}

extension Actions<CounterState> {
    func increment() { dispatch(.increment) }
    func decrement() { dispatch(.decrement) }
}

extension Computed<CounterState> {
    var countText: String { "\(state.count)" }
}

@MainActor final class CounterScreen {
    let label = Label()
    let store = Store<CounterState>(state: CounterState(), executor: .queue(.global()))

    init() { store.select(\.countText).bind(to: label, on: MainActor.shared, \.text) }

    func incrementButtonTapped() { store.actions.increment() }
    func decrementButtonTapped() { store.actions.decrement() }
}

// MARK: RxReduce

struct TestState: State, Equatable {
    enum Counter: Equatable { case empty, increasing(Int), decreasing(Int) }
    enum User: Equatable { case loggedIn(name: String), loggedOut }

    fileprivate(set) var counter = Counter.empty
    fileprivate(set) var user = User.loggedOut

    enum Action: Sendable { case increase(Int), decrease(Int), logUser(String), clear }

    struct Mutations: ComposedMutations {
        let mutators: [Mutator<TestState>] = [
            Mutator(\.counter) { action, counter in
                switch (action, counter) {
                case (.increase(let amount), .increasing(let count)),
                    (.increase(let amount), .decreasing(let count)):
                    counter = .increasing(count + amount)
                case (.increase(let amount), .empty): counter = .increasing(amount)
                case (.decrease(let amount), .increasing(let count)),
                    (.decrease(let amount), .decreasing(let count)):
                    counter = .decreasing(count - amount)
                case (.decrease(let amount), .empty): counter = .decreasing(-amount)
                case (.clear, _): counter = .empty
                case (.logUser, _): return .ignored
                }
                return .handled
            },
            Mutator(\.user) { action, user in
                switch action {
                case .logUser(let name): user = .loggedIn(name: name)
                case .clear: user = .loggedOut
                case .increase, .decrease: return .ignored
                }
                return .handled
            },
        ]
    }
}

// MARK: SwiftFlux

enum CreateTodo: Outcome {
    typealias Payload = Todo
    typealias Failure = Never
}

// MARK: ReSwift

struct AppState: State, Equatable {
    fileprivate(set) var counter = 0

    enum Action: Sendable { case increase, decrease }

    struct Mutations: Flux.Mutations {
        func commit(_ action: Action, to state: inout AppState) {
            switch action {
            case .increase: state.counter += 1
            case .decrease: state.counter -= 1
            }
        }
    }
}

let mainStore = Store<AppState>(state: AppState())

final class CounterView: MainActorSubscriber {
    let label = Label()

    func appear() { mainStore.subscribe(self) }
    func disappear() { mainStore.unsubscribe(self) }
    func newState(_ state: AppState) { label.text = "\(state.counter)" }

    func increaseButtonTapped() { mainStore.dispatch(.increase) }
    func decreaseButtonTapped() { mainStore.dispatch(.decrease) }
}

// MARK: Fluxus

struct CounterModule: State, Equatable {
    fileprivate(set) var count = 0
    fileprivate(set) var isMarked = false

    enum Action: Sendable { case increment, add(Int), mark(Bool) }

    struct Mutations: Flux.Mutations {
        func commit(_ action: Action, to state: inout CounterModule) {
            switch action {
            case .increment: state.count += 1
            case .add(let amount): state.count += amount
            case .mark(let isMarked): state.isMarked = isMarked
            }
        }
    }
}

extension Computed<CounterModule> {
    var countIsEven: Bool { state.count.isMultiple(of: 2) }
    func countIsDivisible(by divisor: Int) -> Bool { state.count.isMultiple(of: divisor) }
}

struct RootState: State, Equatable {
    fileprivate(set) var counter = CounterModule()

    enum Action: Sendable { case counter(CounterModule.Action) }

    struct Mutations: ComposedMutations {
        let mutators: [Mutator<RootState>] = [
            Mutator(\.counter, mutations: CounterModule.Mutations()) {
                switch $0 {
                case .counter(let action): action
                }
            }
        ]
    }
}

// MARK: What they show

struct Todo: Sendable, Equatable {
    var title: String
}

/// Stands for that of a user interface.
@MainActor final class Label {
    var text = ""
}

/// The first examples of other libraries' pages, with what they say.
@Suite(.mainThread, .timeLimit(.minutes(10))) struct FirstExamplesTests {
    private let seen = Journal<String>()

    @MainActor @Test func vueFlux() async {
        let screen = CounterScreen()
        screen.incrementButtonTapped()
        screen.incrementButtonTapped()
        screen.decrementButtonTapped()
        for await count in screen.store.values(\.count) where count == 1 { break }
        while screen.label.text != "1" { await Task.yield() }
    }

    @Test func rxReduce() async throws {
        let seen = seen
        @Sendable func print(_ text: String) { seen.write(text) }
        // Begin.
        let store = try Store<TestState>(state: TestState())
        print("New state \(try await store.state(after: .increase(10)))")
        // End.
        #expect(store.state == TestState(counter: .increasing(10), user: .loggedOut))
        store.dispatch([.decrease(4), .logUser("Ann")])
        #expect(store.state == TestState(counter: .decreasing(6), user: .loggedIn(name: "Ann")))
        store.dispatch(.clear)
        #expect(store.state == TestState())
        store.dispatch(.decrease(1))
        #expect(store.state.counter == .decreasing(-1))
        #expect(seen.entries.count == 1)
    }

    @Test func swiftFlux() throws {
        let seen = seen
        @Sendable func print(_ text: String) { seen.write(text) }
        // Begin.
        let todos = ReduceStore<[Todo]>([])
        todos.reduce(CreateTodo.self) { todos, result in
            if case .success(let todo) = result { todos.append(todo) }
        }
        todos.observe { for todo in $0 { print(todo.title) } }
        try Dispatcher.shared.dispatch(CreateTodo.self, .success(Todo(title: "New to-do")))
        // End.
        #expect(seen.entries == ["New to-do"])
    }

    @MainActor @Test func reSwift() async {
        let view = CounterView()
        view.appear()
        view.increaseButtonTapped()
        view.increaseButtonTapped()
        view.decreaseButtonTapped()
        while view.label.text != "1" { await Task.yield() }
        view.disappear()
        view.increaseButtonTapped()
        #expect(mainStore.state.counter == 2)
        #expect(view.label.text == "1")
    }

    @Test func fluxus() throws {
        // Begin.
        let root = try Store<RootState>(state: RootState())
        let counter = root.scoped(\.counter) { .counter($0) }
        // End.
        counter.dispatch([.increment, .add(5)])
        #expect(root.state.counter.count == 6)
        #expect(counter.computed.countIsEven && counter.computed.countIsDivisible(by: 3))
        let isMarked = root.binding(\.counter.isMarked) { .counter(.mark($0)) }
        isMarked.value = true
        #expect(counter.state.isMarked)
    }

    /// The table of the article counts the lines of its blocks, and each example is shorter here.
    @Test func eachIsShorterHere() throws {
        let text = try Repository.text("Sources/Client/Flux/Flux.docc/FirstExamples.md")
        let rows = text.matches(of: /\| \[(\w+)\]\(\S+\) \| (\d+) \| (\d+) \|/)
        #expect(rows.count == 5)
        for row in rows {
            let section = try #require(text.components(separatedBy: "\n## \(row.1)\n").dropFirst().first)
                .components(separatedBy: "\n## ")[0]
            let lines = section.components(separatedBy: "```swift\n").dropFirst().flatMap {
                $0.components(separatedBy: "\n```")[0].split(separator: "\n").filter {
                    !$0.allSatisfy(\.isWhitespace)
                }
            }
            #expect(lines.count == Int(row.3), "\(row.1)")
            #expect(lines.count < Int(row.2) ?? 0, "\(row.1)")
        }
    }
}
