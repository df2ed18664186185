import Foundation
import Synchronization
import TestServer

/// Many clients on a thread of their own, each with a subscription and always one dispatch under way, that hold the daemon
/// to its word: every event follows the one before, every acknowledged dispatch is a commit of its own.
final class Herd: Sendable {
    static let storeCount = 20
    static func store(_ index: Int) -> String { "herd\(index)" }

    /// Makes the counters anew: those of a herd before outlive it.
    static func makeStores(_ client: LineClient) throws {
        for index in 0..<storeCount {
            _ = try client.ask(#"{"op":"drop","store":"counter/\#(store(index))"}"#)
            _ = try client.ask(#"{"op":"create","store":"counter/\#(store(index))"}"#)
        }
    }

    /// What became of it.
    struct Report: Sendable {
        var acknowledged = 0
        var events = 0
        /// Connections that ended.
        var broken = 0
        /// The revisions of all acknowledged dispatches.
        var revisions: [Int] = []
        /// What the mirrors say in the end, by store; all mirrors of a store agree.
        var counts: [Int] = Array(repeating: 0, count: Herd.storeCount)
        var problems: [String] = []
    }

    private let acknowledged = Atomic<Int>(0)
    private let isFinishing = Atomic<Bool>(false)
    /// No client is left, because of a failure.
    private let isOver = Atomic<Bool>(false)
    private let report = Mutex(Report())
    private let done = DispatchSemaphore(value: 0)
    private let progress = DispatchSemaphore(value: 0)

    init(clients: Int, path: String) throws {
        let members = try (0..<clients).map { try HerdMember($0, path: path) }
        let box = Mutex(members)
        nonisolated(unsafe) let herd = box.withLock { $0 }  // Touched by its thread only from here on.
        Thread.detachNewThread { [self] in run(herd) }
    }

    /// Returns when so many dispatches more than now are acknowledged, or the herd is broken.
    func waitForMore(acknowledged count: Int) {
        let wanted = acknowledged.load(ordering: .relaxed) + count
        while acknowledged.load(ordering: .relaxed) < wanted {
            if isOver.load(ordering: .relaxed) || progress.wait(timeout: .now() + 20) != .success { return }
        }
    }

    /// Lets everything that is under way end, then tells what came of it.
    func finish() -> Report {
        isFinishing.store(true, ordering: .relaxed)
        guard done.wait(timeout: .now() + 60) == .success else {
            return report.withLock {
                $0.problems.append("The herd did not come to an end.")
                return $0
            }
        }
        return report.withLock { $0 }
    }

    private func run(_ members: [HerdMember]) {
        for member in members { member.begin() }
        var polled = members.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        var isSynchronizing = false
        while members.contains(where: { !$0.isDone }) {
            if !isSynchronizing, members.allSatisfy(\.isIdle) {
                isSynchronizing = true
                for member in members { member.sync() }
            }
            guard poll(&polled, nfds_t(polled.count), 20_000) > 0 else { break }
            var news = 0
            let finishing = isFinishing.load(ordering: .relaxed)
            for (index, entry) in polled.enumerated() where entry.revents != 0 {
                news += members[index].serve(finishing: finishing)
                if members[index].isDone { polled[index].fd = -1 }
            }
            if news > 0 {
                acknowledged.add(news, ordering: .relaxed)
                progress.signal()
            }
        }
        report.withLock { report in
            for member in members { member.add(to: &report) }
        }
        isOver.store(true, ordering: .relaxed)
        progress.signal()
        done.signal()
    }
}
