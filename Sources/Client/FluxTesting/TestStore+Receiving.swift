import Flux

/// What comes without the test's own dispatch: from thunks, middleware, timers, observers, and the code under test.
extension TestStore {
    /// Waits for the next action, and fails unless it is this one and changes the state as `change` does.
    ///
    /// Actions are compared by their `==`, or member by member if they have none.
    ///
    /// ```swift
    /// try await test.receive(.pricesLoaded(3)) { $0.total = 3 }
    /// ```
    public func receive(
        _ action: State.Action, timeout: Duration? = nil, isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line,
        _ change: (inout State) throws -> Void = { _ in }
    ) async throws {
        try await receive(ValueText.of(action), timeout, TestPlace(fileID, file, line), change) {
            Comparison.areEqual($0, action)
        }
    }

    /// Waits for the next action, and fails unless it is as it should be and changes the state as `change` does.
    ///
    /// ```swift
    /// try await test.receive(where: { if case .stamped = $0 { true } else { false } }) { $0.isStamped = true }
    /// ```
    public func receive(
        where isExpected: (State.Action) throws -> Bool, timeout: Duration? = nil,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line,
        _ change: (inout State) throws -> Void = { _ in }
    ) async throws {
        var failure: (any Error)?
        try await receive("an action as expected", timeout, TestPlace(fileID, file, line), change) { action in
            do {
                return try isExpected(action)
            } catch {
                failure = error
                return false
            }
        }
        if let failure { throw failure }
    }

    /// Receives a change of the state that no action has made, as that of a `Recorder` which replays.
    ///
    /// ```swift
    /// try await undo.replay(upTo: 1)
    /// try await test.receiveChange { $0.value = 1 }
    /// ```
    public func receiveChange(
        timeout: Duration? = nil, isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line,
        _ change: (inout State) throws -> Void
    ) async throws {
        let place = TestPlace(fileID, file, line)
        let name = "a change without an action"
        let found = await first(within: timeout ?? self.timeout) {
            if journal.entries.isEmpty { journal.note(store.state) }
            return next { if case .change = $0 { true } else { false } }
        }
        guard case .change(let before, let after) = try entry(found, name, place) else { return }
        try compare("The replay", before, after, place, change)
    }

    /// Waits for the failure of an action that the test has not dispatched itself, or of a thunk.
    ///
    /// ```swift
    /// test.dispatch(loadPrices)
    /// try await test.receiveFailure(ServiceError.offline)
    /// ```
    public func receiveFailure<Failure: Error & Equatable>(
        _ failure: Failure, timeout: Duration? = nil, isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line
    ) async throws {
        try await receiveFailure("the error \(failure)", timeout, TestPlace(fileID, file, line)) {
            $0 as? Failure == failure
        }
    }

    /// Waits for a failure of this type.
    public func receiveFailure<Failure: Error>(
        _ type: Failure.Type, timeout: Duration? = nil, isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line
    ) async throws {
        try await receiveFailure("an error of type \(type)", timeout, TestPlace(fileID, file, line)) {
            $0 is Failure
        }
    }

    /// Drops what has come so far and was not received, failures among it.
    public func skipReceived() {
        journal.note(store.state)
        journal.clear()
    }
}

extension TestStore {
    /// The first entry, and whether it was as it should be.
    typealias Found = (entry: JournalEntry<State>, isTaken: Bool)

    private func receive(
        _ name: String, _ timeout: Duration?, _ place: TestPlace, _ change: (inout State) throws -> Void,
        isolation: isolated (any Actor)? = #isolation, _ isExpected: (State.Action) -> Bool
    ) async throws {
        let found = await first(within: timeout ?? self.timeout) {
            next { if case .action(let action) = $0 { isExpected(action.action) } else { false } }
        }
        guard case .action(let action) = try entry(found, name, place) else { return }
        try compare(action.name, action.before, action.after, place, change)
    }

    /// Takes the next entry if it is as it should be. Unless everything has to be expected, those before it are skipped.
    private func next(_ isRight: (JournalEntry<State>) -> Bool) -> Found? {
        isExhaustive ? journal.takeFirst(if: isRight) : journal.skip(to: isRight).map { ($0, true) }
    }

    /// What was found, or nil after a report that it is not there.
    private func entry(_ found: Found?, _ name: String, _ place: TestPlace) throws -> JournalEntry<State>? {
        guard let found else {
            let failed = journal.failures.map { "\n    \($0.text)" }.joined()
            try report(
                "\(name) did not come." + (failed.isEmpty ? "" : " There were failures:\(failed)"), place)
            return nil
        }
        guard found.isTaken else {
            let others = journal.entries.dropFirst().map { "\n    \($0.text)" }.joined()
            try report(
                "\(name) should come, but \(found.entry.text) came first."
                    + (others.isEmpty ? "" : " Behind it:\(others)"), place)
            return nil
        }
        return found.entry
    }

    private func receiveFailure(
        _ name: String, _ timeout: Duration?, _ place: TestPlace,
        isolation: isolated (any Actor)? = #isolation, _ isRight: (any Error) -> Bool
    ) async throws {
        let found = await first(within: timeout ?? self.timeout) { journal.takeFailure(if: isRight) }
        guard found == nil else { return }
        let others = journal.failures.map { "\n    \($0.text)" }.joined()
        try report(
            "\(name) should come, but did not." + (others.isEmpty ? "" : " There were:\(others)"), place)
    }

    /// What `look` finds, now or as soon as there is something; nil when the time is over.
    func first<Value>(
        within timeout: Duration, isolation: isolated (any Actor)? = #isolation, _ look: () -> Value?
    ) async -> Value? {
        let deadline = ContinuousClock.now + timeout
        while true {
            let version = journal.news.version
            if let value = look() { return value }
            if Task.isCancelled { return nil }
            guard ContinuousClock.now < deadline else { break }
            await journal.news.wait(after: version, until: deadline)
        }
        // Where other tests hold all threads, the time may be over before anybody had a turn: what is ready gets some.
        for _ in 0..<Self.turnsAfterDeadline {
            await Task.detached { await Task.yield() }.value
            if let value = look() { return value }
        }
        return nil
    }

    /// On an idle machine they take a few milliseconds.
    private static var turnsAfterDeadline: Int { 500 }
}
