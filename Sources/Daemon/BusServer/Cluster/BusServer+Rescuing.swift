import BusCluster
import BusLog
import Glibc

/// A step by which an operator brings a bus over several machines back.
package enum RescueStep: String, CaseIterable, Sendable {
    /// Tells what is here.
    case look
    /// Begins the bus in an etcd that has none, with a copy.
    case begin
    /// Has this member take the copy of another one.
    case replace
}

/// Brings a bus over several machines back where its members can't do it by themselves, while the daemon here is stopped. It
/// reports, in revisions, what each copy has and what would be lost. It refuses to lose more than that. Without
/// `isSure` it changes nothing.
extension BusServer {
    /// - Parameters:
    ///   - copy: For `begin`: another file than this machine's log.
    ///   - isSure: Whether to do it; otherwise it is only described.
    ///   - tell: Receives each finding as a line.
    package static func rescue(
        _ step: RescueStep, with copy: String?, isSure: Bool, _ setup: ServerSetup,
        progress: VerificationProgress = { _, _ in }, tell: (String) -> Void
    ) throws(StartFailure) {
        let path = try logPath(of: setup, for: "rescue")
        guard let cluster = setup.configuration.cluster else {
            throw StartFailure(
                .configuration,
                "The configuration has no cluster: section, so this machine does not share a bus. To replace its own log, use --restore."
            )
        }
        let own = RescueCopy(at: path)
        tell("this copy: \(own.text)")
        let log: SharedLogSight
        do throws(StartFailure) {
            log = try SharedLogSight(of: cluster, password: setup.etcdPassword)
        } catch {
            guard error.code == .inUse else { throw error }
            throw StartFailure(
                .inUse,
                "\(error.description) Start most servers of etcd; if they are gone for good, start the one that is furthest ahead with --force-new-cluster."
            )
        }
        tell("the shared log: \(log.hasBus ? "has the bus" : "is empty")")
        for member in log.members { tell("present: \(RescueCopy.text(of: member))") }
        switch step {
        case .look: tell(advice(log, own))
        case .begin:
            try begin(with: copy ?? path, own, log, cluster, setup, isSure, progress, tell)
        case .replace: try replace(own, log, cluster, isSure, tell)
        }
    }

    private static func advice(_ log: SharedLogSight, _ own: RescueCopy) -> String {
        if log.hasBus {
            return
                "The bus goes on from the shared log: start the members. One whose copy can't be used takes another's by fluxbus cluster rescue replace."
        }
        return own.revision == nil
            ? "There is no bus yet, neither here nor in the shared log: a member that starts begins an empty one."
            : "On the machine whose copy has the highest revision, begin the bus with it: fluxbus cluster rescue begin."
    }

    private static let unsure = "Nothing was changed; with --yes it is done."

    // MARK: - The bus begins with a copy

    private static func begin(
        with source: String, _ own: RescueCopy, _ log: SharedLogSight, _ cluster: ClusterSettings,
        _ setup: ServerSetup, _ isSure: Bool, _ progress: VerificationProgress, _ tell: (String) -> Void
    ) throws(StartFailure) {
        let bus = cluster.bus.value
        guard !log.hasBus else {
            throw StartFailure(
                .configuration,
                "The shared log has the bus \(bus) already: start its members. To give up that bus, first set up etcd again with empty data directories."
            )
        }
        let copy = source == own.path ? own : RescueCopy(at: source)
        guard let revision = copy.revision else {
            throw StartFailure(.configuration, "No bus can begin with \(copy.text).")
        }
        if let owner = copy.bus, owner != bus {
            throw StartFailure(
                .configuration, "\(source) is a copy of the bus \(owner), not of \(bus): name another one.")
        }
        if copy.epoch == own.epoch, let newer = own.revision, newer > revision {
            throw StartFailure(
                .configuration,
                "This member's own copy has more, through revision \(newer), and \(source) ends with \(revision): leave the file out, or move \(own.path) away first."
            )
        }
        tell(
            "the bus \(bus) begins with revision \(revision) of \(source), in a new epoch; what any member has had after revision \(revision) is lost"
        )
        guard isSure else { return tell(unsure) }
        try restore(source, to: own.path, renews: true, setup, progress: progress, tell: tell)
        do throws(LogFailure) {
            let file = try LogFile(path: own.path, sync: .always, bootID: BootID.read())
            _ = try ClusterStart.bring(
                file, cluster, knowing: setup.natives, limits: setup.configuration.limits,
                hashSeed: .random(in: .min ... .max))
            try file.close()
        } catch {
            throw StartFailure(LogStart.code(of: error), error.message)
        }
        tell(
            "start this member; then let each of the others take a copy of it: fluxbus cluster rescue replace --yes"
        )
    }

    // MARK: - Another copy

    private static func replace(
        _ own: RescueCopy, _ log: SharedLogSight, _ cluster: ClusterSettings, _ isSure: Bool,
        _ tell: (String) -> Void
    ) throws(StartFailure) {
        let reports = log.members.filter { $0.name != cluster.member }
            .compactMap { MemberReport($0.report) }.filter { $0.hasBegun && !$0.about.address.isEmpty }
        guard let most = reports.map(\.revision).max() else {
            throw StartFailure(
                .configuration,
                "No other member is present that gives its copy, so this one may be the last: start one that has advertise: under cluster: first."
            )
        }
        guard access(own.path, F_OK) == 0 else {
            return tell("There is nothing to replace: the member takes a copy when it starts.")
        }
        let lost = own.revision.map {
            $0 > most ? "revisions \(most + 1) to \($0), unless the others have them meanwhile" : "nothing"
        }
        tell(
            "this copy is moved aside, and the member takes another when it starts; the others have reported revision \(most), so at most this is lost: \(lost ?? "what only this copy has, which can't be read")"
        )
        guard isSure else { return tell(unsure) }
        do throws(LogFailure) {
            tell("the copy is kept as \(try LogFile.setAside(own.path)); start this member")
        } catch {
            throw StartFailure(LogStart.code(of: error), error.message)
        }
    }
}

/// What a file has of a bus.
private struct RescueCopy {
    let path: String
    /// Of the last commit; nil: no history can be read.
    var revision: Int?
    var epoch: String?
    /// The shared bus that it is a copy of.
    var bus: String?
    let text: String

    init(at path: String) {
        self.path = path
        guard access(path, F_OK) == 0 else {
            text = "\(path), which is not there"
            return
        }
        do throws(LogFailure) {
            let reader = try LogReader(standing: path)
            guard let epoch = try reader.epoch() else {
                text = "\(path), in which nothing has begun"
                return
            }
            // A copy that was taken from another member begins with a snapshot.
            let revision = max(
                try reader.lastRevision(by: .max), try reader.snapshots().map(\.revision).max() ?? 0)
            bus = try reader.copyOf()
            (self.revision, self.epoch) = (revision, epoch)
            text =
                "\(path), revision \(revision), epoch \(epoch), \(bus.map { "of the bus \($0)" } ?? "of one machine")"
        } catch {
            text = error.message
        }
    }

    /// What a member that is present says of itself: its last report may be some revisions old.
    static func text(of member: OrderedLogMember) -> String {
        guard let report = MemberReport(member.report), report.hasBegun else {
            return "\(member.name), which waits for the bus"
        }
        let address = report.about.address
        return
            "\(member.name), revision \(report.revision) or later, \(address.isEmpty ? "without advertise:" : "gives its copy at \(address)")"
    }
}
