import Flux
import FluxTesting
import Synchronization
import Testing

/// What nobody has expected fails the test at its end.
@Suite struct FinishingTests {
    let test = TestStore<Shelf>(state: Shelf(), timeout: .milliseconds(20))

    private func left(_ test: TestStore<Shelf>? = nil) async throws -> String? {
        let prefix = "The test ends, but not everything was expected:\n    "
        let message = try await failure { try await (test ?? self.test).finish() }
        #expect(message?.hasPrefix(prefix) == true)
        return message.map { String($0.dropFirst(prefix.count)) }
    }

    @Test func actionThatNobodyReceivedFails() async throws {
        test.store.dispatch([.add("tea"), .touch])
        #expect(try await left() == "add(\"tea\") was not received\n    touch was not received")
    }

    @Test func timerThatIsSetFails() async throws {
        try await test.dispatch(.open(30)) { $0.count = 100 }
        #expect(try await left() == "the timer close is set: close in 30.0 seconds")
        test.store.cancelTimer("close")
        try await test.finish()
    }

    @Test func thunkThatDoesNotEndFails() async throws {
        let (stream, _) = AsyncStream.makeStream(of: Void.self)
        let task = test.dispatch(Thunk { _ in for await _ in stream {} })
        #expect(try await left() == "1 of the thunks did not end")
        // It is cancelled then.
        try await task.value
        try await test.finish()
    }

    @Test func thunkThatEndsIsAwaited() async throws {
        let patient = TestStore<Shelf>(state: Shelf())
        patient.dispatch(
            Thunk { store in
                for _ in 0..<50 { await Task.yield() }
                store.dispatch(.touch)
            })
        #expect(try await left(patient) == "touch was not received")
    }

    @Test func thunkOfTheCodeUnderTestIsAwaited() async throws {
        let patient = TestStore<Shelf>(state: Shelf())
        let store = patient.store
        store.dispatch(
            Thunk { store in
                store.dispatch(.touch)
                for _ in 0..<50 { await Task.yield() }
            }.cancellable(id: "touch"))
        store.dispatch(Thunk { _ in for _ in 0..<50 { await Task.yield() } })
        try await patient.receive(.touch)
        try await patient.finish()
        store.dispatch(Thunk { $0.dispatch(.add("tea")) }.debounced(id: "add", for: .seconds(1)))
        let waiting = try await failure { try await patient.finish(timeout: .milliseconds(10)) }
        #expect(
            waiting
                == "The test ends, but not everything was expected:\n    1 of the thunks did not end")
        await patient.clock.advance(by: .seconds(1))
        try await patient.receive(.add("tea")) {
            $0.items = ["tea"]
            $0.count = 1
        }
        try await patient.finish()
    }

    @Test func thunkThatIgnoresItsCancellationIsAwaited() async throws {
        let patient = TestStore<Shelf>(state: Shelf())
        let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
        patient.store.dispatch(
            Thunk { store in
                beginning.finish()
                for _ in 0..<50 { await Task.yield() }
                store.dispatch(.touch)
            }.cancellable(id: "touch"))
        for await _ in begun {}
        patient.store.cancel(id: "touch")
        #expect(try await left(patient) == "touch was not received")
    }

    @Test func testThatIsNotExhaustiveWaitsToo() async throws {
        let patient = TestStore<Shelf>(state: Shelf(), isExhaustive: false)
        patient.dispatch(
            Thunk { _ in
                for _ in 0..<50 { await Task.yield() }
                throw Shelf.Refusal()
            })
        #expect(try await left(patient) == "a thunk failed: \(Shelf.Refusal())")
        let (stream, _) = AsyncStream.makeStream(of: Void.self)
        patient.dispatch(Thunk { _ in for await _ in stream {} })
        try await patient.finish(timeout: .milliseconds(10))
    }

    @Test func timeoutMayBeAsLongAsATimeCanBe() async throws {
        let patient = TestStore<Shelf>(state: Shelf(), timeout: .seconds(Int64.max))
        patient.dispatch(
            Thunk { store in
                for _ in 0..<50 { await Task.yield() }
                store.dispatch(.touch)
            })
        try await patient.receive(.touch)
        try await patient.finish()
    }

    @Test func errorThatNobodyReceivedFails() async throws {
        let patient = TestStore<Shelf>(state: Shelf())
        patient.store.dispatch(.refuse)
        patient.dispatch(Thunk { _ in throw Shelf.Refusal(reason: "nobody is there") })
        #expect(
            try await left(patient) == """
                refuse failed: \(Shelf.Refusal())
                    a thunk failed: \(Shelf.Refusal(reason: "nobody is there"))
                """)
    }

    @Test func changeWithoutAnActionFails() async throws {
        try await test.replay(Recording(start: Shelf(), steps: [.init(actions: [.add("tea")])])) {
            $0 = Shelf(items: ["tea"], count: 1)
        }
        try await Recorder(test.store).replay(Recording(start: Shelf(), steps: []))
        #expect(
            try await left() == """
                the state changed without an action:
                    items[0]: expected "tea", got nothing
                    count: expected 1, got 0
                """)
    }

    @Test func whatIsSkippedIsNoFailure() async throws {
        test.store.dispatch([.add("tea"), .refuse])
        test.skipReceived()
        try await test.finish()
    }

    @Test func testThatIsNotExhaustiveLooksAtWhatItNames() async throws {
        let test = TestStore<Shelf>(state: Shelf(), isExhaustive: false)
        try await test.dispatch(.add("tea")) { $0.count = 1 }
        try await test.dispatch(.open(30))
        test.store.dispatch([.touch, .add("milk"), .touch])
        try await test.receive(.add("milk")) { $0.count = 102 }
        let message = try await failure { try await test.dispatch(.add("salt")) { $0.count = 2 } }
        #expect(
            message == "add(\"salt\") did not change the state as expected:\n    count: expected 2, got 103")
        try await test.finish()
    }

    @Test func handlerIsCalledAndTheTestGoesOn() async throws {
        let failures = Mutex<[TestFailure]>([])
        let test = TestStore<Shelf>(state: Shelf()) { failure in failures.withLock { $0.append(failure) } }
        let line = #line + 1
        try await test.dispatch(.add("tea"))
        try await test.dispatch(.touch) { $0.count = 7 }
        try await test.receive(.touch, timeout: .zero)
        test.store.dispatch(.touch)
        try await test.finish()
        #expect(failures.withLock { $0.map(\.line) } == [line, line + 1, line + 2, line + 4])
    }

    @Test func handlerHearsOfATestThatForgetsToFinish() async throws {
        let failures = Mutex<[TestFailure]>([])
        let line = #line + 2
        do {
            let test = TestStore<Shelf>(state: Shelf()) { failure in failures.withLock { $0.append(failure) }
            }
            try await test.dispatch(.touch)
        }
        #expect(failures.withLock { $0.map(\.message) } == ["The test of this store ends without finish()."])
        #expect(failures.withLock { $0.map(\.line) } == [line])
        do {
            let test = TestStore<Shelf>(state: Shelf()) { failure in failures.withLock { $0.append(failure) }
            }
            try await test.finish()
        }
        #expect(failures.withLock { $0.count } == 1)
    }
}
