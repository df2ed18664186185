import BusJSON
import CLinux
import Dispatch
import FluxBus
import Foundation
import Synchronization
import TestFiles
import TestServer
import Testing

/// Ends of connections and of waits, at the moments that are hard to get right.
@Suite(.timeLimit(.minutes(10))) struct EndingTests {
    /// What a bus says before it goes counts, also when a request is written at this very moment.
    @Test func answersBeforeTheEndCountAlthoughWritingFails() async throws {
        let (isBusy, hasGone) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let leaving = try HandmadeBus { bus in
            guard let peer = bus.accept() else { return }
            peer.greet()
            _ = peer.line()
            _ = peer.line()
            peer.send(#"{"id":2,"ok":true,"revision":1,"matched":1,"changed":1}"#)
            isBusy.wait()
            peer.send(#"{"id":3,"ok":true,"revision":2,"matched":1,"changed":1}"#)
            peer.send(#"{"event":"goodbye","code":"restart","message":"Back soon."}"#)
            peer.close()
            hasGone.signal()
            bus.accept()?.greet(revision: 2)
        }
        var options = BusOptions()
        options.usesKeys = false
        options.keepAlive = nil
        let bus = try await Bus.connect(leaving.address, options: options)
        var notices = bus.notices.makeAsyncIterator()
        let second = Mutex<Result<DispatchReply, BusError>?>(nil)
        bus.postDispatch("a", to: .everything) { _ in
            // On the bus's thread: it reads nothing more until the other end has gone.
            isBusy.signal()
            hasGone.wait()
            bus.postDispatch("c", to: .everything)
        }
        bus.postDispatch("b", to: .everything) { outcome in second.withLock { $0 = outcome } }
        guard case .lost(let reason)? = await notices.next() else {
            Issue.record("The loss was not told first.")
            return
        }
        #expect(reason.details["reason"] == "restart")
        #expect(try second.withLock { $0 }?.get().revision == 2)
    }

    @Test func closeSendsWhatStoodInLine() async throws {
        let live = try LiveBus()
        let bus = try await live.connect { $0.window = 8 }
        let failures = Mutex(0)
        for _ in 0..<500 {
            bus.postDispatch("increment", to: .store("counter/main")) { outcome in
                if case .failure = outcome { failures.withLock { $0 += 1 } }
            }
        }
        await bus.close()
        #expect(failures.withLock { $0 } == 0)
        let other = try await live.connect()
        #expect(try await other.state(of: "counter/main").state["count"] == 500)
    }

    /// A listener that accepts nobody and whose queue is full.
    private final class DeafListener {
        private let directory = TemporaryDirectory()
        var path: String { "\(directory.path)/s" }
        private var descriptors: [Int32] = []

        init() throws {
            descriptors = [try Sockets.listen(at: "unix:\(path)", backlog: 0)]
            while let client = try? Sockets.connect(to: "unix:\(path)", isBlocking: false) {
                descriptors.append(client)
            }
        }

        deinit {
            for descriptor in descriptors { close(descriptor) }
        }
    }

    /// The time limit of the suite is a minute; an attempt that nothing interrupts would take an hour.
    @Test func cancellingAnAttemptToConnectDoesNotWaitForIt() async throws {
        let deaf = try DeafListener()
        let address = BusAddress.unix(path: deaf.path)
        var options = BusOptions()
        options.connectTimeout = .seconds(3600)
        let wanted = options
        let attempt = Task { try await Bus.connect(address, options: wanted) }
        attempt.cancel()
        #expect(await code { try await attempt.value } == .cancelled)
    }

    @Test func timeOutsAndCloseHoldWhileAConnectionIsInTheMaking() async throws {
        let live = try LiveBus()
        let bus = try await live.connect { $0.connectTimeout = .seconds(3600) }
        live.stop()
        let path = live.path("s")
        // From now on nobody takes the connection that the bus tries to make.
        let deaf = try DeafListener()
        unlink(path)
        #expect(symlink(deaf.path, path) == 0)
        #expect(await code { try await bus.ping(timeout: .after(.milliseconds(50))) } == .timedOut)
        await bus.close()
        unlink(path)
    }

    /// A buffer of one is filled by every event, also by one that comes while its consumer begins to wait.
    @Test func smallestBufferNeverRestsForEver() async throws {
        let live = try LiveBus()
        let bus = try await live.connect { $0.bufferedEvents = 1 }
        let subscription = try await bus.subscribe(to: .store("counter/main"))
        let writer = Task {
            for _ in 0..<3000 { try await bus.dispatch("increment", to: .store("counter/main")) }
        }
        var mirror = BusMirror()
        for try await event in subscription {
            _ = try mirror.fold(event)
            if mirror.states["counter/main"]?["count"] == 3000 { break }
        }
        try await writer.value
    }
}
