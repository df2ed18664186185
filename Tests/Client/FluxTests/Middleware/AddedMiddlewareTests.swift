import Flux
import Testing

/// Middleware that comes and goes while its store is in use.
@Suite(.timeLimit(.minutes(10))) struct AddedMiddlewareTests {
    private let store = Store<Counter>(
        state: Counter(),
        middleware: [
            Middleware { action, _, next in
                next(action == .touch ? .increment(by: 1000) : action)
            }
        ])

    /// Writes down each action it sees under its name.
    private func witness(_ name: String, _ journal: Journal<String>) -> Middleware<Counter> {
        Middleware { action, context, next in
            journal.write("\(name) \(context.state.count)")
            next(action)
        }
    }

    @Test func itSeesActionsFromItsAdditionToItsRemoval() {
        let journal = Journal<String>()
        store.dispatch(.increment())
        let last = store.add(witness("last", journal))
        store.dispatch(.increment())
        let first = store.add(witness("first", journal), at: .first)
        let veryFirst = store.add(witness("very first", journal), at: .first)
        store.dispatch(.touch)
        #expect(journal.entries == ["last 1", "very first 2", "first 2", "last 2"])
        last.dispose()
        first.dispose()
        last.dispose()
        store.dispatch(.increment())
        veryFirst.dispose()
        store.dispatch(.increment())
        #expect(journal.entries.dropFirst(4) == ["very first 1002"])
        #expect(store.state.count == 1004)
    }

    @Test func storeWithoutAnyGetsItsFirstAndLosesIt() async throws {
        let store = Store<Counter>(state: Counter())
        let double = store.add(
            Middleware { action, _, next in
                next(action)
                next(action)
            })
        store.dispatch(.increment())
        store.dispatch(atomically: [.increment(), .increment()])
        #expect(store.state.count == 6)
        double.dispose()
        #expect(try await store.state(after: .increment()).count == 7)
    }

    /// What is passed on later continues behind its middleware, whatever has come and gone meanwhile.
    @Test func actionHeldBackContinuesBehindItsPlace() {
        let (journal, held) = (Journal<String>(), Variable<(@Sendable () -> Void)?>(nil))
        let before = store.add(witness("before", journal))
        let holder = store.add(
            Middleware { action, _, next in held.value = { next(action) } })
        store.add(witness("behind", journal))
        store.dispatch(.increment())
        #expect(journal.entries == ["before 0"])
        store.add(witness("new", journal), at: .first)
        store.add(witness("new and last", journal))
        before.dispose()
        holder.dispose()
        held.value?()
        #expect(journal.entries.dropFirst() == ["behind 0", "new and last 0"])
        #expect(store.state.count == 1)
    }

    @Test func numberOfAMiddlewareThatWasRemovedIsNotUsedAgain() {
        let (journal, held) = (Journal<String>(), Variable<[@Sendable () -> Void]>([]))
        let holder = Middleware<Counter> { action, _, next in held.modify { $0.append { next(action) } } }
        let last = store.add(holder)
        store.dispatch(.increment())
        last.dispose()
        store.add(witness("new and last", journal))
        let before = store.add(witness("before", journal), at: .first)
        let first = store.add(holder, at: .first)
        store.dispatch(.increment())
        first.dispose()
        before.dispose()
        store.add(witness("new", journal), at: .first)
        for next in held.value { next() }
        #expect(journal.entries == ["new and last 0", "new and last 1"])
    }

    /// One that removes itself, or adds another, leaves the commit under way as it is.
    @Test func commitUnderWayIsLeftAlone() {
        let (journal, own) = (Journal<String>(), DisposableScope())
        own.add(
            store.add(
                Middleware { [witness, weak store] action, _, next in
                    own.dispose()
                    store?.add(witness("added", journal))
                    next(action)
                }))
        store.add(witness("behind", journal))
        store.dispatch(.increment())
        store.dispatch(.increment())
        #expect(journal.entries == ["behind 0", "behind 1", "added 1"])
        #expect(store.state.count == 2)
    }

    @Test func removedOneIsReleased() {
        final class Held: Sendable {}
        var held: Held? = Held()
        weak let released = held
        let added = store.add(
            Middleware { [held] action, _, next in withExtendedLifetime(held) { next(action) } })
        held = nil
        #expect(released != nil)
        added.dispose()
        #expect(released == nil)
    }
}
