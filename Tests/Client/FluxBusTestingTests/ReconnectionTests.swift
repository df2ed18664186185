import Dispatch
import FluxBusTesting
import Glibc
import Synchronization
import Testing

/// What goes wrong when a test says so, and what clients make of it.
@Suite(.timeLimit(.minutes(10))) struct ReconnectionTests {
    private func makeBus(hasLog: Bool = false) throws -> TestBus {
        try TestBus(serving: Counter.self, stores: ["counter/main"], hasLog: hasLog)
    }

    @Test func cutConnectionsComeBack() async throws {
        let test = try makeBus()
        let bus = try await test.connect()
        let store = try await bus.store("main", of: Counter.self)
        let notices = bus.notices
        try await store.dispatch(.increment())
        await test.cut()
        var seen: [String] = []
        for await notice in notices {
            if case .lost = notice { seen.append("lost") }
            if case .reconnected = notice {
                seen.append("reconnected")
                break
            }
        }
        #expect(seen == ["lost", "reconnected"])
        try await store.dispatch(.increment())
        #expect(await store.reaches(2))
    }

    @Test func dispatchesOverCutsCountOnce() async throws {
        let test = try makeBus()
        let store = try await test.connect().store("main", of: Counter.self)
        let other = try await test.connect().store("main", of: Counter.self)
        async let work: Void = {
            for _ in 0..<300 { try await store.dispatch(.increment()) }
        }()
        for count in 1...20 {
            _ = await other.reaches(atLeast: count * 10)
            await test.cut()
        }
        try await work
        #expect(try await store.confirmed().state.count == 300)
    }

    @Test func busThatIsOfflineCannotBeReachedAndForgetsNothing() async throws {
        let test = try makeBus()
        let bus = try await test.connect()
        let store = try await bus.store("main", of: Counter.self)
        try await store.dispatch(.increment(by: 5))
        let (epoch, notices) = (bus.greeting.epoch, bus.notices)
        await test.goOffline()
        let unreachable = await #expect(throws: BusError.self) { try await test.connect() }
        #expect(unreachable?.code == .unreachable)
        for await notice in notices { if case .attemptFailed = notice { break } }
        async let late: Void = { _ = try await store.dispatch(.increment()) }()
        test.goOnline()
        try await late
        #expect(try await store.confirmed().state.count == 6)
        #expect(bus.greeting.epoch == epoch)
    }

    @Test func restartWithoutALogBeginsAnew() async throws {
        let test = try makeBus()
        let bus = try await test.connect()
        let store = try await bus.store("main", of: Counter.self)
        try await store.dispatch(.increment(by: 5))
        let notices = bus.notices
        try await test.restart()
        for await notice in notices { if case .epochChanged = notice { break } }
        #expect(await store.reaches(0))
    }

    @Test func restartWithALogGoesOn() async throws {
        let test = try makeBus(hasLog: true)
        let bus = try await test.connect()
        let store = try await bus.store("main", of: Counter.self)
        try await store.dispatch(.increment(by: 5))
        let epoch = bus.greeting.epoch
        await test.stop()
        let unreachable = await #expect(throws: BusError.self) { try await test.connect() }
        #expect(unreachable?.code == .unreachable)
        try test.start()
        try test.start()
        try await store.dispatch(.increment())
        #expect(try await store.confirmed().state.count == 6)
        #expect(bus.greeting.epoch == epoch)
    }

    /// A program that is being started has this one's descriptors for a moment, and with them no lock of the log.
    @Test func restartWithALogGoesOnWhileChildrenAreStarted() async throws {
        let test = try makeBus(hasLog: true)
        let store = try await test.connect().store("main", of: Counter.self)
        let isOver = Atomic(false)
        let starter = DispatchGroup()
        DispatchQueue.global().async(group: starter) {
            repeat {
                var child: pid_t = 0
                var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("true"), nil]
                defer { free(arguments[0]) }
                if posix_spawn(&child, "/bin/true", nil, nil, &arguments, nil) == 0 { waitpid(child, nil, 0) }
            } while !isOver.load(ordering: .acquiring)
        }
        for count in 1...30 {
            try await test.restart()
            try await store.dispatch(.increment())
            #expect(try await store.confirmed().state.count == count)
        }
        isOver.store(true, ordering: .releasing)
        await withCheckedContinuation { done in starter.notify(queue: .global()) { done.resume() } }
    }

    @Test func stoppingTwiceAndCuttingNobodyDoNothing() async throws {
        let test = try makeBus()
        await test.cut()
        await test.stop()
        await test.stop()
        await test.cut()
        test.goOnline()
        try test.start()
        #expect(try await test.connect().greeting.epoch.isEmpty == false)
    }

    @Test func offlineBusCanBeStopped() async throws {
        let test = try makeBus()
        await test.goOffline()
        try await test.restart()
        #expect(try await test.connect().status == .connected)
    }
}

extension RemoteStore<Counter> {
    /// Waits until it shows so many or more.
    fileprivate func reaches(atLeast least: Int) async -> Bool {
        for await shown in values(\.count) where shown >= least { return true }
        return false
    }
}
