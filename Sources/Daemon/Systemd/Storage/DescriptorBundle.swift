import BusSystem
import CLinux
import CSystemd
import Glibc

/// Many descriptors behind one: sent into a socket pair, whose other end holds them until they are received.
///
/// Why: the manager compares each descriptor that it stores with all the others, keeps no more than
/// `FileDescriptorStoreMax=`, and passes all of them on one by one. A server with thousands of connections hands over
/// one descriptor instead, and they come out in the order in which they went in, so that a list can identify them.
///
/// Guarantees: the descriptors stay open while the bundle exists, whatever happens to the process that packed it; when
/// the bundle's last descriptor is closed, they are closed too.
///
/// ```swift
/// let bundle = try DescriptorBundle.pack(connections)
/// try notifier.store([bundle], name: "connections", droppingDead: false)   // its other end is closed already
/// // in the next process
/// let connections = try DescriptorBundle.unpack(bundle)
/// ```
public enum DescriptorBundle {
    /// The most descriptors that the kernel takes along with one message.
    public static let mostPerMessage = Int(linux_descriptors_per_message)

    /// Packs descriptors into a new one, which the caller owns. They stay open here, and belong to the caller.
    ///
    /// - Throws: `tooLarge` if there are more than the kernel holds for one user (`LimitNOFILE=`) or one socket (some
    ///   ten thousand).
    public static func pack(_ descriptors: [Int32]) throws(SystemdError) -> Int32 {
        var ends: [Int32] = [-1, -1]
        // A datagram pair would lose its contents when the sending end is closed; a sequenced one keeps them.
        let kind = Int32(systemd_sequenced) | systemd_close_on_exec
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw SystemdError.failed("socketpair") }
        defer { close(ends[0]) }
        var isKept = false
        defer { if !isKept { close(ends[1]) } }

        var rest = descriptors[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(mostPerMessage))
            try send(part, on: ends[0])
            rest = rest.dropFirst(part.count)
        }
        isKept = true
        return ends[1]
    }

    private static func send(_ descriptors: [Int32], on socket: Int32) throws(SystemdError) {
        // A message without a byte would look like the end.
        var byte: UInt8 = 1
        let outcome: Int32 = withUnsafeMutableBytes(of: &byte) { byte in
            var piece = iovec(iov_base: byte.baseAddress, iov_len: 1)
            while true {
                let count = linux_send_message(
                    socket, nil, 0, &piece, 1, descriptors, descriptors.count, systemd_dont_wait)
                if count >= 0 { return 0 }
                if errno != EINTR { return errno }
            }
        }
        switch outcome {
        case 0: return
        case EAGAIN, ETOOMANYREFS:
            throw SystemdError(
                .tooLarge,
                "There are more descriptors than the kernel bundles; raise LimitNOFILE= of the service.",
                systemCode: outcome)
        default: throw SystemdError.failed("Bundling descriptors", outcome)
        }
    }

    /// Takes all descriptors out, in order; each is closed on exec and belongs to the caller. The bundle is empty then,
    /// stays open, and may be closed.
    ///
    /// - Throws: `descriptor` if it is no bundle, or this process may not have so many open; those taken
    ///   out until then are closed.
    public static func unpack(_ bundle: Int32) throws(SystemdError) -> [Int32] {
        var unpacked: [Int32] = []
        var room = [Int32](repeating: -1, count: mostPerMessage)
        while true {
            var byte: UInt8 = 0
            var count = 0
            var isCut: Int32 = 0
            let received = linux_receive_message(bundle, &byte, 1, &room, &count, &isCut, systemd_dont_wait)
            let number = errno
            unpacked += room[..<count]
            if received < 0, number == EINTR { continue }
            if received == 0 { return unpacked }
            guard received > 0, isCut == 0 else {
                for descriptor in unpacked { close(descriptor) }
                throw SystemdError(
                    .descriptor,
                    isCut != 0
                        ? "More descriptors are bundled than this process may open; raise LimitNOFILE=."
                        : "Descriptor \(bundle) is not a bundle (\(systemReason(number))); pass what "
                            + "DescriptorBundle.pack made.",
                    systemCode: received < 0 ? number : 0)
            }
        }
    }
}
