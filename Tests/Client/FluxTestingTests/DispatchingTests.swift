import Flux
import FluxTesting
import Testing

/// What a test dispatches itself.
@Suite struct DispatchingTests {
    let test = TestStore<Shelf>(state: Shelf())

    @Test func expectedChangesAreAccepted() async throws {
        try await test.dispatch(.add("tea")) {
            $0.items = ["tea"]
            $0.count = 1
        }
        try await test.dispatch(.touch)
        try await test.dispatch([.add("milk"), .label("tea", .init(text: "Tea"))]) {
            $0.items = ["tea", "milk"]
            $0.count = 2
            $0.labels = ["tea": .init(text: "Tea")]
        }
        try await test.dispatch(atomically: [.add("salt"), .add("salt")]) {
            $0.items += ["salt", "salt"]
            $0.count += 2
        }
        try await test.finish()
        #expect(test.state.count == 4)
    }

    @Test func wrongExpectationFailsWithTheMembersThatDiffer() async throws {
        let message = try await failure {
            try await test.dispatch(.add("tea")) {
                $0.items = ["coffee", "tea"]
                $0.count = 1
            }
        }
        #expect(
            message == """
                add("tea") did not change the state as expected:
                    items[0]: expected "coffee", got "tea"
                    items[1]: expected "tea", got nothing
                """)
    }

    @Test func changeThatIsNotAssertedFails() async throws {
        let silent = try await failure { try await test.dispatch(.add("tea")) }
        #expect(
            silent == """
                add("tea") did not change the state as expected:
                    items[0]: expected nothing, got "tea"
                    count: expected 0, got 1
                """)
        let incomplete = try await failure {
            try await test.dispatch(.add("milk")) { $0.items = ["tea", "milk"] }
        }
        #expect(
            incomplete == """
                add("milk") did not change the state as expected:
                    count: expected 1, got 2
                """)
    }

    @Test func changeThatDidNotHappenFails() async throws {
        let message = try await failure { try await test.dispatch(.touch) { $0.count = 1 } }
        #expect(message == "touch did not change the state as expected:\n    count: expected 1, got 0")
    }

    @Test func failureSaysWhereItIs() async throws {
        let line = #line + 3
        var thrown: TestFailure?
        do {
            try await test.dispatch(.add("tea"))
        } catch let failure as TestFailure {
            thrown = failure
        }
        let failure = try #require(thrown)
        #expect(failure.line == line)
        #expect(failure.fileID == "FluxTestingTests/DispatchingTests.swift")
        #expect(failure.file == "\(#filePath)")
        #expect("\(failure)".hasPrefix("DispatchingTests.swift:\(line): add(\"tea\") did not"))
    }

    @Test func errorOfAnActionFails() async throws {
        let message = try await failure { try await test.dispatch(.refuse) }
        #expect(message == "refuse failed: \(Shelf.Refusal())")
        let list = try await failure { try await test.dispatch(atomically: [.add("tea"), .refuse]) }
        #expect(list == "[add(\"tea\"), refuse] failed: \(Shelf.Refusal())")
        // Nothing of it is left to be received.
        try await test.finish()
        #expect(test.state == Shelf())
    }

    @Test func expectedErrorIsAccepted() async throws {
        try await test.dispatch(.refuse, throwing: Shelf.Refusal())
        try await test.dispatch(.refuse, throwing: Shelf.Refusal.self)
        try await test.finish()
    }

    @Test func otherErrorThanExpectedFails() async throws {
        let other = try await failure {
            try await test.dispatch(.refuse, throwing: Shelf.Refusal(reason: "it is full"))
        }
        #expect(
            other
                == "refuse should fail with the error \(Shelf.Refusal(reason: "it is full")), but failed with: \(Shelf.Refusal())"
        )
        let none = try await failure { try await test.dispatch(.add("tea"), throwing: Shelf.Refusal.self) }
        #expect(none == "add(\"tea\") should fail with an error of type Refusal, but succeeded.")
    }

    @Test func errorOfTheClosureIsThrown() async throws {
        await #expect(throws: Shelf.Refusal.self) {
            try await test.dispatch(.touch) { _ in throw Shelf.Refusal() }
        }
    }

    @MainActor @Test func closureMayUseWhatBelongsToTheMainActor() async throws {
        let label = Label()
        try await test.dispatch(.add("tea")) {
            label.text = $0.items.isEmpty ? "empty" : "full"
            $0.items = ["tea"]
            $0.count = 1
        }
        #expect(label.text == "empty")
    }

    @MainActor private final class Label { var text = "" }

    @Test func composedRulesAreCheckedWhenTheStoreIsMade() async throws {
        #expect(throws: FluxError.duplicateReducer(first: "\\Twice.one", second: "\\Twice.one")) {
            try TestStore<Twice>(state: Twice())
        }
    }

    private struct Twice: State {
        var one = 0
        enum Action: Sendable { case go }
        struct Mutations: ComposedMutations {
            let mutators: [Mutator<Twice>] = [
                Mutator(\.one) { _, _ in .handled }, Mutator(\.one) { _, _ in .handled },
            ]
        }
    }
}
