import BusEngine
import CLinux
import Glibc

/// Sends to many sockets with one system call, by io_uring. What was gathered leaves with the next `send`; where that is too
/// little to pay, by a call for each.
///
/// Nothing here waits: like `SystemCall.send`, a socket that takes nothing now says so.
final class SendRing {
    private let ring: OpaquePointer
    private let sendings: UnsafeMutablePointer<linux_sending>
    private let ids: UnsafeMutablePointer<ConnectionID>
    private(set) var count = 0
    /// The connections that are gathered, by number.
    private var isGathered: [Bool] = []

    /// nil where the kernel has no io_uring, or does not let this process use it.
    init?() {
        guard let ring = linux_ring_create(UInt32(LoopLimits.gathered)) else { return nil }
        self.ring = ring
        sendings = .allocate(capacity: LoopLimits.gathered)
        ids = .allocate(capacity: LoopLimits.gathered)
    }

    deinit {
        linux_ring_free(ring)
        sendings.deallocate()
        ids.deallocate()
    }

    var isFull: Bool { count == LoopLimits.gathered }

    func has(_ id: ConnectionID) -> Bool { id < isGathered.count && isGathered[id] }

    /// The bytes must stay where they are until they were sent.
    func add(_ piece: OutputPiece, to descriptor: Int32, of id: ConnectionID) {
        sendings[count] = linux_sending(bytes: piece.base, count: piece.count, fd: descriptor, result: 0)
        ids[count] = id
        while isGathered.count <= id { isGathered.append(false) }
        isGathered[id] = true
        count += 1
    }

    /// Sends what was gathered. Nothing more may be gathered before the results are taken.
    func send(_ calls: inout SystemCallCount) {
        if count < LoopLimits.leastGathered {
            for index in 0..<count {
                let one = sendings + index
                calls.send &+= 1
                let sent = Glibc.send(
                    one.pointee.fd, one.pointee.bytes, one.pointee.count, linux_dont_wait | linux_no_signal)
                one.pointee.result = sent >= 0 ? Int32(sent) : -errno
            }
        } else {
            calls.send &+= Int(linux_ring_send(ring, sendings, count))
        }
    }

    /// The outcomes of what was sent, in the order in which it was gathered, with how many bytes there were to send; nil: it was
    /// not tried. Then nothing is gathered.
    func takeOutcomes(_ body: (ConnectionID, _ sent: SystemCall.Sent?, _ wanted: Int) -> Void) {
        let all = count
        count = 0
        for index in 0..<all { isGathered[ids[index]] = false }
        for index in 0..<all {
            let result = sendings[index].result
            body(ids[index], result == -EINTR ? nil : SystemCall.sent(result), sendings[index].count)
        }
    }
}
