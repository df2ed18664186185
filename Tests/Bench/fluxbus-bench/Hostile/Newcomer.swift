import CLinux
import FluxBus
import Glibc

/// The well-behaved client that connects for each of its dispatches, and closes when it has the answer, as the command line
/// does. As with `Innocent`, what it does is due at fixed times, and its times run from then.
final class Newcomer {
    /// Between two visits.
    private static let interval: UInt64 = 4_000_000
    /// How long it waits in the end for missing replies.
    private static let patience: UInt64 = 15_000_000_000
    /// As many are under way at most.
    private static let most = 256

    private struct Visit {
        let descriptor: Int32
        let due: UInt64
        var received: [UInt8] = []
    }

    private let place: AttackPlace
    private let line: [UInt8]
    private var visits: [Visit] = []
    private var tally = InnocentTally()
    private var silence = SilenceMeter()

    init(at place: AttackPlace) {
        self.place = place
        line = Array(#"{"op":"dispatch","store":"\#(Innocent.type)/s0","action":"increment"}"#.utf8) + [0x0a]
    }

    /// Visits for this long, and waits for all answers.
    func run(nanoseconds length: UInt64) -> InnocentTally {
        let start = nanoseconds()
        let count = max(1, Int(length / Self.interval))
        let end = start + UInt64(count) * Self.interval + Self.patience
        var next = 0
        while next < count || !visits.isEmpty {
            let now = nanoseconds()
            if now >= end { break }
            while next < count, visits.count < Self.most, start + UInt64(next) * Self.interval <= now,
                begin(due: start + UInt64(next) * Self.interval)
            {
                next += 1
            }
            let due = next < count ? start + UInt64(next) * Self.interval : now + Self.interval
            wait(nanoseconds: due > now ? due - now : Self.interval / 4)
        }
        finish(missing: count - next, end)
        tally.requests = count
        tally.silence = silence.longest
        return tally
    }

    /// False while the bus accepts nobody.
    private func begin(due: UInt64) -> Bool {
        guard let descriptor = place.connect(secure: false) else { return false }
        // A new socket has room for a line.
        _ = line.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, linux_no_signal) }
        visits.append(Visit(descriptor: descriptor, due: due))
        return true
    }

    private func wait(nanoseconds length: UInt64) {
        var entries = visits.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        guard linux_poll(&entries, entries.count, Int64(length)) > 0 else { return }
        for (index, entry) in entries.enumerated().reversed() where entry.revents != 0 {
            if hear(index) { close(visits.remove(at: index).descriptor) }
        }
    }

    /// True once a visit is over.
    private func hear(_ index: Int) -> Bool {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(visits[index].descriptor, &bytes, bytes.count, linux_dont_wait)
        if count < 0, errno == EAGAIN || errno == EINTR { return false }
        guard count > 0 else {
            tally.fail("the connection was ended")
            return true
        }
        visits[index].received += bytes[..<count]
        guard let end = visits[index].received.firstIndex(of: 0x0a) else { return false }
        let now = nanoseconds()
        let due = visits[index].due
        tally.replyTimes.add(now - min(now, due), times: 1)
        silence.arrived(at: now, oldestDue: visits.lazy.map(\.due).min() ?? due)
        switch try? BusMessage(parsing: Array(visits[index].received[..<end])) {
        case .reply(let reply) where reply["ok"] == true: break
        case .reply(let reply): tally.fail(reply["error"]?["code"]?.string ?? "a reply without a code")
        case .event(let name, _): tally.fail(name)
        case nil: tally.fail("a line that is not JSON")
        }
        return true
    }

    /// A reply that never came counts with the time spent waiting for it.
    private func finish(missing: Int, _ end: UInt64) {
        let now = nanoseconds()
        tally.fail("no connection", times: missing)
        for visit in visits {
            tally.fail("no answer")
            tally.replyTimes.add(now - min(now, visit.due), times: 1)
            silence.arrived(at: now, oldestDue: visit.due)
            close(visit.descriptor)
        }
        visits = []
    }
}
