import BusSystem
import CLinux
import Glibc

/// The epoll descriptor of one bus: which sockets are ready.
///
/// Why our own, when Dispatch could watch each socket: on Linux, a Dispatch source per connection loses events and
/// leaks descriptors when clients vanish early. Dispatch watches only this one descriptor.
///
/// Everything is level-triggered: what was not finished in this turn is reported again in the next, so a reader of
/// events need not remember what it left behind.
struct Poller: ~Copyable {
    /// Events to wait for, or that have come. One byte, because every connection has one.
    struct Interest: OptionSet {
        let rawValue: UInt8
        static let input = Interest(rawValue: UInt8(linux_epoll_in))
        static let output = Interest(rawValue: UInt8(linux_epoll_out))
        /// Reported without being requested: the peer is gone in both directions, or the socket is broken.
        static let gone = Interest(rawValue: UInt8(linux_epoll_hup | linux_epoll_err))
    }

    let descriptor: Int32
    private let events: UnsafeMutablePointer<linux_epoll_event>

    init() throws(SystemError) {
        let created = linux_epoll_create()
        guard created >= 0 else { throw SystemError("epoll_create1") }
        descriptor = created
        events = .allocate(capacity: LoopLimits.eventsPerTurn)
    }

    /// The owner must have made sure that Dispatch watches the descriptor no more.
    deinit {
        SystemCall.close(descriptor)
        events.deallocate()
    }

    /// How many events are ready now, or come within some milliseconds. Read them with `event(_:)`.
    func poll(milliseconds: Int = 0, _ calls: inout SystemCallCount) -> Int {
        while true {
            calls.poll &+= 1
            let count = linux_epoll_wait(
                descriptor, events, Int32(LoopLimits.eventsPerTurn), Int32(milliseconds))
            if count >= 0 { return Int(count) }
            guard errno == EINTR else {
                preconditionFailure("epoll_wait: \(SystemError("epoll_wait").reason).")
            }
        }
    }

    func event(_ index: Int) -> (token: UInt64, interest: Interest) {
        let came = UInt8(truncatingIfNeeded: linux_epoll_events(events + index))
        return (linux_epoll_token(events + index), Interest(rawValue: came))
    }

    func add(
        _ fd: Int32, _ interest: Interest, token: UInt64, _ calls: inout SystemCallCount
    ) throws(SystemError) {
        calls.control &+= 1
        guard linux_epoll_add(descriptor, fd, UInt32(interest.rawValue), token) == 0 else {
            throw SystemError("epoll_ctl")
        }
    }

    func modify(_ fd: Int32, _ interest: Interest, token: UInt64, _ calls: inout SystemCallCount) {
        calls.control &+= 1
        let result = linux_epoll_modify(descriptor, fd, UInt32(interest.rawValue), token)
        precondition(result == 0, "A watched descriptor is no longer in the epoll set.")
    }

    /// Removes a descriptor that stays open.
    func remove(_ fd: Int32, _ calls: inout SystemCallCount) {
        calls.control &+= 1
        _ = linux_epoll_remove(descriptor, fd)
    }
}
