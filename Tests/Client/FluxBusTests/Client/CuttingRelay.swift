import CLinux
import FluxBus
import Foundation
import Synchronization
import TestServer
import TestSupport

/// Stands between a client and a daemon, passes bytes on, and cuts connections after a random number of them, in the
/// middle of whatever they are.
final class CuttingRelay: Sendable {
    private struct Pair {
        let client: Int32
        let server: Int32
        var bytesLeft: Int
    }

    let address: BusAddress
    private let target: BusAddress
    private let budget: Range<Int>
    private let listener: Int32
    private let stopper: Int32
    private let cutCount = Atomic<Int>(0)
    private let isCutting = Atomic<Bool>(true)
    private let hasEnded = DispatchSemaphore(value: 0)

    init(at path: String, to target: BusAddress, budget: Range<Int>, seed: UInt64) throws {
        address = .unix(path: path)
        self.target = target
        self.budget = budget
        listener = try Sockets.listen(at: "unix:\(path)")
        stopper = linux_event_descriptor()
        Thread.detachNewThread { [self] in run(seed: seed) }
    }

    var cuts: Int { cutCount.load(ordering: .relaxed) }

    /// From now on connections last.
    func becomeKind() { isCutting.store(false, ordering: .relaxed) }

    /// Closes everything. Returns when that is done.
    func stop() {
        var one: UInt64 = 1
        _ = write(stopper, &one, 8)
        hasEnded.wait()
    }

    private func run(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var pairs: [Pair] = []
        var space = [UInt8](repeating: 0, count: 16_384)
        var isRunning = true
        while isRunning {
            var entries = [
                pollfd(fd: stopper, events: Int16(POLLIN), revents: 0),
                pollfd(fd: listener, events: Int16(POLLIN), revents: 0),
            ]
            for pair in pairs {
                entries.append(pollfd(fd: pair.client, events: Int16(POLLIN), revents: 0))
                entries.append(pollfd(fd: pair.server, events: Int16(POLLIN), revents: 0))
            }
            _ = poll(&entries, nfds_t(entries.count), -1)
            isRunning = entries[0].revents == 0
            for index in pairs.indices.reversed() {
                let isAlive = [(2, 3), (3, 2)].allSatisfy { from, to in
                    entries[2 * index + from].revents == 0
                        || pass(
                            from: entries[2 * index + from].fd, to: entries[2 * index + to].fd, &pairs[index],
                            &space, &random)
                }
                if !isAlive {
                    close(pairs[index].client)
                    close(pairs[index].server)
                    pairs.remove(at: index)
                }
            }
            if entries[1].revents != 0, let pair = accept(&random) { pairs.append(pair) }
        }
        for pair in pairs {
            close(pair.client)
            close(pair.server)
        }
        close(listener)
        close(stopper)
        hasEnded.signal()
    }

    private func accept(_ random: inout SeededGenerator) -> Pair? {
        let client = Glibc.accept(listener, nil, nil)
        guard client >= 0, case .unix(let path) = target else { return nil }
        guard let server = try? Sockets.connect(to: "unix:\(path)") else {
            close(client)
            return nil
        }
        return Pair(client: client, server: server, bytesLeft: Int.random(in: budget, using: &random))
    }

    /// Passes on what is there; false when the connection ends, by itself or because it is cut.
    private func pass(
        from: Int32, to: Int32, _ pair: inout Pair, _ space: inout [UInt8], _ random: inout SeededGenerator
    ) -> Bool {
        let most = Int.random(in: 1...space.count, using: &random)
        let count = recv(from, &space, most, 0)
        guard count > 0 else { return false }
        var passed = count
        if isCutting.load(ordering: .relaxed) {
            passed = min(count, pair.bytesLeft)
            pair.bytesLeft -= count
        }
        var sent = 0
        while sent < passed {
            let step = space.withUnsafeBytes {
                send(to, $0.baseAddress! + sent, passed - sent, linux_no_signal)
            }
            guard step > 0 else { return false }
            sent += step
        }
        guard passed < count else { return true }
        cutCount.add(1, ordering: .relaxed)
        return false
    }
}
