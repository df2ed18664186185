import BusCluster
import BusHTTP
import CLinux
import Glibc

/// The shared log on an etcd: its revisions are the places, its history is the log.
///
/// A thread of its own speaks to etcd; all that is here happens at once.
///
/// - A proposal is a version of the key `/fluxbus/<bus>/log/<member>-<incarnation>`, whose number is the version: written if
///   the version before is the last one and the member's key is still that of its incarnation.
/// - A member is the key `/fluxbus/<bus>/members/<name>`, which goes with its lease.
/// - A barrier is a write that the watch has to deliver.
/// - Trimming is compaction.
package final class EtcdLog: OrderedLog {
    private let mailbox: EtcdMailbox
    private let transfers: Transfers
    private let thread: WorkerThread
    /// What members get that read the log through this one.
    package let feed: RelayFeed
    private var isClosed = false

    /// - Parameter bell: Called from the thread when there is something to take, and from within `take` when there is more.
    /// - Throws: What is configured can't be used.
    package init(
        _ settings: EtcdSettings, bell: @escaping @Sendable () -> Void = {}
    ) throws(OrderedLogFailure) {
        try settings.check()
        if let absence = Transfers.absence { throw OrderedLogFailure(.unusable, "\(absence).") }
        mailbox = EtcdMailbox(bell: bell)
        transfers = Transfers(keeping: EtcdLimits.keptConnections)
        feed = RelayFeed(bell: bell)
        thread = WorkerThread { [mailbox, transfers, feed] in
            EtcdWorker(settings, mailbox, transfers, feed).work()
        }
    }

    deinit { close() }

    package func read(behind place: Int, of cluster: String?) {
        precondition(place >= 0, "A place is no negative number.")
        mailbox.beginReading(behind: place, of: cluster)
        transfers.wake()
    }

    package func join(as member: String, report: [UInt8]) {
        precondition(ProposalName.isMemberName(member), "No member can be called \(member).")
        call(.join(member, report))
    }

    package func report(_ report: [UInt8]) { call(.report(report)) }
    package func leave() { call(.leave) }
    package func pass() { call(.pass) }

    package func resume(as member: String, incarnation: Int, lease: Int) {
        call(.resume(member, incarnation: incarnation, lease: lease))
    }

    package func end(_ member: String, incarnation: Int) { call(.end(member, incarnation: incarnation)) }

    package func propose(_ name: ProposalName, _ content: [UInt8]) {
        precondition(content.count <= OrderedLogLimits.proposal, "A proposal is larger than its limit.")
        precondition(name.number > 0 && name.incarnation > 0, "Proposals count from 1.")
        call(.propose(name, content))
    }

    package func barrier(_ number: Int) { call(.barrier(number)) }
    package func listMembers() { call(.listMembers) }
    package func trim(through place: Int) { call(.trim(through: place)) }

    package func take() -> [OrderedLogEvent] {
        if isClosed { return [] }
        let (events, madeRoom) = mailbox.take()
        if madeRoom { transfers.wake() }
        return events
    }

    /// Waits for the thread's end.
    package func close() {
        if isClosed { return }
        call(.close)
        isClosed = true
        thread.join()
    }

    private func call(_ call: EtcdMailbox.Call) {
        mailbox.call(call)
        transfers.wake()
    }
}

/// One thread that somebody waits for in the end.
private final class WorkerThread {
    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    private var thread = pthread_t()

    init(_ run: @escaping @Sendable () -> Void) {
        let argument = Unmanaged.passRetained(Body(run)).toOpaque()
        let result = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                linux_name_thread("fluxbus-etcd")
                // A server that is gone is an error, not a signal.
                var signals = sigset_t()
                sigemptyset(&signals)
                sigaddset(&signals, SIGPIPE)
                pthread_sigmask(SIG_BLOCK, &signals, nil)
                Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, argument)
        precondition(result == 0, "The system has no room for a thread.")
    }

    func join() { pthread_join(thread, nil) }
}
