import Flux
import FluxTesting
import Testing

struct Cart: State, Equatable, Codable {
    var items: [String] = []
    var total = 0
    var isLoading = false

    enum Action: Codable, Equatable, Sendable {
        case add(String)
        case load
        case priced(Int)
        case clear
    }

    struct Full: Error, Equatable {}

    static let timers = TimerRule<Cart> { action, _ in
        if case .add = action { [.set("expiry", after: .seconds(900), .clear)] } else { [] }
    }

    struct Mutations: Flux.Mutations {
        func commit(_ action: Action, to cart: inout Cart) throws {
            switch action {
            case .add(let item):
                guard cart.items.count < 3 else { throw Full() }
                cart.items.append(item)
            case .load: cart.isLoading = true
            case .priced(let total):
                cart.total = total
                cart.isLoading = false
            case .clear: cart = Cart()
            }
        }
    }
}

private struct Offline: Error, Equatable {}

private struct Service {
    func price(of items: [String]) async throws -> Int { items.count * 3 }
}

private let service = Service()

let price = Thunk<Cart> { store in
    store.dispatch(.load)
    store.dispatch(.priced(try await service.price(of: store.state.items)))
}

/// The code of the article Testing.
@Suite struct TestingTests {
    @Test func itemsAreAdded() async throws {
        let test = TestStore<Cart>(state: Cart())
        try await test.dispatch(.add("tea")) { $0.items = ["tea"] }
        try await test.dispatch([.add("milk"), .add("salt")]) { $0.items = ["tea", "milk", "salt"] }
        try await test.dispatch(.add("sugar"), throwing: Cart.Full())
        test.store.cancelTimer("expiry")
        try await test.finish()
    }

    @Test func wrongExpectationIsToldAsInTheArticle() async throws {
        let test = TestStore<Cart>(state: Cart())
        let message = try await failure {
            try await test.dispatch(.add("tea")) { $0 = Cart(items: ["milk"], total: 2) }
        }
        #expect(
            message == """
                add("tea") did not change the state as expected:
                    items[0]: expected "milk", got "tea"
                    total: expected 2, got 0
                """)
        test.store.dispatch(.priced(3))
        let left = try await failure { try await test.finish() }
        #expect(
            left == """
                The test ends, but not everything was expected:
                    priced(3) was not received
                    the timer expiry is set: clear in 900.0 seconds
                """)
    }

    @Test func pricesAreLoaded() async throws {
        let test = TestStore<Cart>(state: Cart(items: ["tea"]))
        test.dispatch(price)
        try await test.receive(.load) { $0.isLoading = true }
        try await test.receive(where: { $0 == .priced(3) }) {
            $0.total = 3
            $0.isLoading = false
        }
        try await test.finish()
    }

    @Test func thunksAreExpectedAsAWhole() async throws {
        let test = TestStore<Cart>(state: Cart(items: ["tea"]))
        try await test.expect(price, toDispatch: [.load, .priced(3)]) { $0.total = 3 }
        test.dispatch(Thunk { _ in throw Offline() })
        try await test.receiveFailure(Offline())
        try await test.finish()
    }

    @Test func cartsExpire() async throws {
        let test = TestStore<Cart>(state: Cart())
        try await test.dispatch(.add("tea")) { $0.items = ["tea"] }
        await test.advance(by: .seconds(900))
        try await test.receive(.clear) { $0 = Cart() }
        try await test.finish()
    }

    @Test func oneThingIsLookedAt() async throws {
        let price = Thunk<Cart> { store in
            store.dispatch([.add("tea"), .load, .priced(3)])
        }
        let test = TestStore<Cart>(state: Cart(), isExhaustive: false)
        test.dispatch(price)
        try await test.receive(.priced(3)) { $0.total = 3 }
        try await test.finish()
    }

    @Test func recordingsAreFixtures() async throws {
        let test = TestStore<Cart>(state: Cart())
        let recording = try Recording<Cart>(fixture: "Fixtures/cart.json")
        try await test.replay(recording) {
            $0.items = ["tea"]
            $0.total = 3
        }
        try await test.finish()
    }

    @Test func runsAreComparedWithFixtures() async throws {
        let test = TestStore<Cart>(state: Cart())
        test.store.dispatch(.add("tea"))
        test.store.dispatch(atomically: [.load, .priced(3)])
        try test.expect(Recording(fixture: "Fixtures/cart.json"))
    }

    @Test func failuresAreShownWhereTheyAre() async throws {
        let test = TestStore<Cart>(state: Cart()) { failure in
            Issue.record(
                "\(failure.message)",
                sourceLocation: SourceLocation(
                    fileID: failure.fileID, filePath: failure.file, line: failure.line, column: 1))
        }
        let line = #line + 2
        try await withKnownIssue {
            try await test.dispatch(.load)
        } matching: { issue in
            issue.sourceLocation?.line == line
                && issue.comments == [
                    "load did not change the state as expected:\n    isLoading: expected false, got true"
                ]
        }
        try await test.finish()
    }
}
