import BusSystem
import FluxBus
import Glibc

/// Signals of this process as bytes, so that a loop that polls learns of them; one byte each, the signal's number.
///
/// There is one at a time, for the whole process. Ended, it leaves the signals to the system again.
final class SignalPipe {
    /// To be polled and read; never blocks.
    let descriptor: Int32
    private let other: Int32
    private let signals: [Int32]

    init(_ signals: [Int32]) throws {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else {
            throw CommandFailure(
                .temporary, "Can't open a pipe (\(systemReason())): close other programs."
            )
        }
        (descriptor, other) = (ends[0], ends[1])
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        self.signals = signals
        signalWriteEnd = other
        for number in signals { take(number) }
        // Who started this program may have blocked them.
        var taken = sigset_t()
        sigemptyset(&taken)
        for number in signals { sigaddset(&taken, number) }
        pthread_sigmask(SIG_UNBLOCK, &taken, nil)
    }

    deinit {
        for number in signals { leave(number) }
        signalWriteEnd = -1
        close(descriptor)
        close(other)
    }

    /// Handles a signal, again after `leave`. A hang-up that is ignored, as `nohup` wants it, stays ignored.
    func take(_ number: Int32) {
        let before = signal(number, signalArrived)
        let isIgnored = unsafeBitCast(before, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
        if number == SIGHUP, isIgnored { signal(number, SIG_IGN) }
    }

    /// Leaves a signal to the system.
    func leave(_ number: Int32) { signal(number, SIG_DFL) }

    /// Waits until one comes, or the deadline passes.
    func wait(until deadline: Deadline) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&entry, 1, deadline.pollTimeout)
    }

    /// The signals that have come.
    func arrived() -> [Int32] {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &bytes, bytes.count)
        return bytes.prefix(max(0, count)).map(Int32.init)
    }
}

/// What the handler writes to. Unchecked: set while no handler is installed, and a handler only reads it.
nonisolated(unsafe) private var signalWriteEnd: Int32 = -1

/// Does only what a handler may.
private func signalArrived(_ number: Int32) {
    let error = errno
    var byte = UInt8(truncatingIfNeeded: number)
    // Where the pipe is full, there is something to wake up for.
    _ = write(signalWriteEnd, &byte, 1)
    errno = error
}
