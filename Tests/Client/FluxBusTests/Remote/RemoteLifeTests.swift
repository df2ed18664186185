import Dispatch
import FluxBus
import Foundation
import Synchronization
import TestServer
import Testing

/// Waiting for remote stores ends, observers hold nobody up, and nothing is left behind.
@Suite(.serialized, .timeLimit(.minutes(10))) struct RemoteLifeTests {
    /// A bus that grants a subscription to `counter/main`, tells its state or keeps it, and then says nothing.
    private static func silent(tellsState: Bool) throws -> HandmadeBus {
        try HandmadeBus { bus in
            guard let peer = bus.accept() else { return }
            peer.greet(revision: 1)
            _ = peer.line()
            peer.send(#"{"id":2,"ok":true,"sub":1,"revision":1,"epoch":"e1"}"#)
            if tellsState {
                peer.send(
                    #"{"event":"change","sub":1,"from":0,"revision":1,"reset":true,"states":{"counter/main":{"count":1}}}"#
                )
                // A store that is known late asks for it.
                if let line = peer.line(), line.contains("sync") {
                    peer.send(#"{"id":3,"ok":true,"revision":1}"#)
                }
            }
            while peer.line() != nil {}
        }
    }

    @Test func storeWhoseStateNeverComesTimesOut() async throws {
        let silent = try Self.silent(tellsState: false)
        var options = BusOptions()
        options.timeout = .milliseconds(50)
        options.closeTimeout = .zero
        let bus = try await Bus.connect(silent.address, options: options)
        #expect(await code { try await bus.store("main", of: SharedCounter.self) } == .timedOut)
    }

    @Test func cancelledDispatchOfARemoteStoreEnds() async throws {
        let silent = try Self.silent(tellsState: true)
        var options = BusOptions()
        options.timeout = nil
        options.closeTimeout = .zero
        let bus = try await Bus.connect(silent.address, options: options)
        let store = try await bus.store("main", of: SharedCounter.self, isOptimistic: true)
        let dispatch = Task { try await store.dispatch(.increment()) }
        for await count in store.values(\.count) where count == 2 { break }
        dispatch.cancel()
        #expect(await code { try await dispatch.value } == .cancelled)
        #expect(store.state.count == 1 && store.pendingCount == 0, "it is not known, so it is not shown")
        let reading = Task { try await store.confirmed() }
        reading.cancel()
        #expect(await code { try await reading.value } == .cancelled)
    }

    @Test func observersOfFailuresHoldNobodyUp() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let counters = try await bus.stores(of: SharedCounter.self)
        let (isCalled, mayReturn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let observation = counters.failures.observe { _ in
            isCalled.signal()
            mayReturn.wait()
        }
        // The second one overflows.
        counters.actions.increment(by: .max)
        counters.actions.increment(by: .max)
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                isCalled.wait()
                continuation.resume()
            }
        }
        try await bus.sync()
        mayReturn.signal()
        observation.dispose()
    }

    /// With a window of one, the second action waits for room.
    @Test(arguments: [1, 2]) func actionsThatTheEndOvertookAreTold(window: Int) async throws {
        let live = try LiveBus()
        let bus = try await live.connect { ($0.closeTimeout, $0.window) = (.zero, window) }
        let main = try await bus.store("main", of: SharedCounter.self)
        var failures = main.failures.values.makeAsyncIterator()
        var statuses = main.status.values.makeAsyncIterator()
        #expect(await statuses.next() == .live)
        live.stop()
        // One that is written before the loss is noticed fails with `outcome_unknown`.
        while bus.status == .connected { await Task.yield() }
        for _ in 0..<2 { main.actions.increment() }
        await bus.close()
        for _ in 0..<2 {
            let failure = await failures.next()?.error
            #expect((failure as? BusError)?.code == .closed, "\(String(describing: failure))")
        }
        #expect(await failures.next() == nil)
        #expect(await statuses.next() == .ended(nil))
        #expect(await statuses.next() == nil)
    }

    @Test func unfitStateIsNotReadAsTheLastOneThatFitted() async throws {
        struct Worded: SharedState {
            var note: Note = .empty
            enum Note: String, Codable, Sendable { case empty = "", loud }
            enum Action: Codable, Sendable { case write(text: String) }
            static let typeName = "counter"
            static let actions = ActionList<Worded>().requiring { .write(text: $0) }
            struct Mutations: Flux.Mutations { func commit(_ action: Action, to state: inout Worded) {} }
        }
        let live = try LiveBus()
        let bus = try await live.connect()
        let main = try await bus.store("main", of: Worded.self)
        _ = try await main.confirmed()
        try await main.dispatch(.write(text: "unheard of"))
        #expect(await code { try await main.confirmed() } == .unfitState)
        try await main.dispatch(.write(text: "loud"))
        #expect(try await main.confirmed().state.note == .loud)
    }

    /// A new history has revisions of its own from its first state on, also where that does not fit.
    @Test func revisionsOfANewHistoryCountThoughItsFirstStateDoesNotFit() async throws {
        let bus = try HandmadeBus { bus in
            for (epoch, count) in [("e1", "1"), ("e2", #""many""#)] {
                guard let peer = bus.accept() else { return }
                peer.greet(epoch: epoch, revision: 5)
                guard let subscription = peer.request(for: "subscribe") else { return }
                peer.send(#"{"id":\#(subscription),"ok":true,"sub":1,"revision":5,"epoch":"\#(epoch)"}"#)
                peer.send(
                    #"{"event":"change","sub":1,"from":0,"revision":5,"reset":true,"states":{"counter/main":{"count":\#(count)}}}"#
                )
                if epoch == "e1" {
                    _ = peer.request(for: "ping")
                    peer.close()
                    continue
                }
                peer.send(
                    #"{"event":"change","sub":1,"from":5,"revision":6,"changes":{"counter/main":{"count":2}}}"#
                )
                guard let dispatch = peer.request(for: "dispatch") else { return }
                peer.send(#"{"id":\#(dispatch),"ok":true,"revision":7,"matched":1,"changed":0}"#)
                _ = peer.request(for: "nothing")
            }
        }
        let client = try await Bus.connect(bus.address)
        let store = try await client.store("main", of: SharedCounter.self)
        client.post(BusRequest("ping"))
        for await count in store.values(\.count) where count == 2 { break }
        #expect(try await store.dispatch(.increment(), ifRevision: 6).revision == 7)
        await client.close()
    }

    /// A bus on which others always commit, and this client, too: before it answers a barrier it asks for an action, which it
    /// answers before the next barrier, and sends one more commit of another client. It does so twenty times.
    private static func busy(asks: @escaping @Sendable () -> Void) throws -> HandmadeBus {
        try HandmadeBus { bus in
            guard let peer = bus.accept() else { return }
            peer.greet(revision: 5)
            guard let subscription = peer.request(for: "subscribe") else { return }
            peer.send(#"{"id":\#(subscription),"ok":true,"sub":1,"revision":5,"epoch":"e1"}"#)
            peer.send(
                #"{"event":"change","sub":1,"from":0,"revision":5,"reset":true,"states":{"counter/main":{"count":0}}}"#
            )
            // A store that is known late has asked for it before.
            guard let mark = peer.request(for: "mark") else { return }
            peer.send(#"{"id":\#(mark),"ok":true}"#)
            var revision = 5
            func commit() {
                peer.send(
                    #"{"event":"change","sub":1,"from":\#(revision),"revision":\#(revision + 1),"changes":{"counter/main":{"count":\#(revision - 4)}}}"#
                )
                revision += 1
            }
            var dispatch: Int?
            for _ in 0..<20 {
                guard let sync = peer.request(for: "sync") else { return }
                if let dispatch {
                    commit()
                    peer.send(
                        #"{"id":\#(dispatch),"ok":true,"revision":\#(revision),"matched":1,"changed":1}"#)
                }
                asks()
                dispatch = peer.request(for: "dispatch")
                commit()
                peer.send(#"{"id":\#(sync),"ok":true,"revision":\#(revision)}"#)
            }
            _ = peer.request(for: "nothing")
        }
    }

    @Test func confirmedStateDoesNotWaitForLaterCommits() async throws {
        let (asked, asks) = AsyncStream.makeStream(of: Void.self)
        let busy = try Self.busy { asks.yield() }
        var options = BusOptions()
        options.closeTimeout = .zero
        let bus = try await Bus.connect(busy.address, options: options)
        let store = try await bus.store("main", of: SharedCounter.self, isOptimistic: true)
        try await bus.request(BusRequest("mark"))
        let dispatches = Task { for await _ in asked { store.actions.increment() } }
        let (state, revision) = try await store.confirmed()
        #expect(state.count == 2 && revision == 7, "the other client's commit, and that of the action")
        dispatches.cancel()
        await bus.close()
    }

    /// A store's own revision may be newer than the state known here; the two must not be taken for a pair, or a change of what
    /// is not known would pass as `ifRevision`. Nor may one be awaited that no event reports, as where the rules hide the part
    /// of the state that has changed.
    @Test(arguments: [true, false]) func revisionComesWithTheStateItBelongsTo(isEventSent: Bool) async throws
    {
        let bus = try HandmadeBus { bus in
            guard let peer = bus.accept() else { return }
            peer.greet(revision: 5)
            guard let subscription = peer.request(for: "subscribe") else { return }
            peer.send(#"{"id":\#(subscription),"ok":true,"sub":1,"revision":5}"#)
            peer.send(
                #"{"event":"change","sub":1,"from":0,"revision":5,"reset":true,"states":{"counter/main":{"count":1}}}"#
            )
            // `request` answers what comes before: the barrier of `confirmed`.
            guard let stores = peer.request(for: "stores") else { return }
            peer.send(
                #"{"id":\#(stores),"ok":true,"stores":[{"store":"counter/main","revision":7}],"revision":7}"#)
            guard let sync = peer.request(for: "sync") else { return }
            if isEventSent {
                peer.send(
                    #"{"event":"change","sub":1,"from":5,"revision":7,"changes":{"counter/main":{"count":9}}}"#
                )
            }
            peer.send(#"{"id":\#(sync),"ok":true,"revision":7}"#)
            _ = peer.request(for: "nothing")
        }
        let client = try await Bus.connect(bus.address)
        let store = try await client.store("main", of: SharedCounter.self)
        let (state, revision) = try await store.confirmed()
        #expect(state.count == (isEventSent ? 9 : 1))
        #expect(revision == 7)
        await client.close()
    }
}
