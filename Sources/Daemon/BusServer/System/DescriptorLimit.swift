import CLinux
import Glibc
import Logging

/// Raises the limit of open descriptors to what the configured connections need.
package enum DescriptorLimit {
    /// Listeners, epoll, Dispatch's own, standard streams, files that are being read.
    static let reserve: UInt64 = 64

    /// Raises it, and throws if it stays so low that not even a daemon without clients could run. Call it before
    /// Dispatch is used, which ends the process where it gets no descriptor.
    package static func raise(for setup: ServerSetup, _ logger: Logger) throws(StartFailure) {
        raise(for: setup.configuration.limits.daemon.connections, logger)
        var soft: UInt64 = 0
        var hard: UInt64 = 0
        guard linux_get_descriptor_limit(&soft, &hard) == 0, soft < reserve else { return }
        throw StartFailure(
            .system,
            "The limit of open descriptors is \(soft), and the daemon needs \(reserve) beside those of its clients; raise "
                + "it with ulimit -n, or with LimitNOFILE= in the unit.")
    }

    static func raise(for connections: Int, _ logger: Logger) {
        raiseLimit(for: connections, logger)
        growTable(for: connections)
    }

    /// Has the kernel make its table of descriptors as large as it will be: when it grows while there are several threads,
    /// the one that opens a connection waits for some ten milliseconds, and everybody with it.
    private static func growTable(for connections: Int) {
        let descriptor = linux_duplicate(STDIN_FILENO, Int32(clamping: min(connections, tableGrownAtOnce)))
        if descriptor >= 0 { close(descriptor) }
    }

    /// Descriptors for which there is room from the start: each takes some eight bytes.
    private static let tableGrownAtOnce = 65_536

    private static func raiseLimit(for connections: Int, _ logger: Logger) {
        var soft: UInt64 = 0
        var hard: UInt64 = 0
        let wanted = UInt64(connections) + reserve
        guard linux_get_descriptor_limit(&soft, &hard) == 0, soft < wanted else { return }
        // Only root may raise the hard limit; trying does no harm.
        if hard < wanted, linux_set_descriptor_limit(wanted, wanted) == 0 { return }
        let most = min(wanted, hard)
        if linux_set_descriptor_limit(most, hard) == 0, most == wanted { return }
        logger.warning(
            "the limit of open descriptors is lower than limits.connections needs",
            metadata: [
                "descriptors": .stringConvertible(max(soft, most)), "needed": .stringConvertible(wanted),
            ])
    }
}
