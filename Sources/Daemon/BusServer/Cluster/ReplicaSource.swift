import BusCluster
import BusEngine
import BusJSON
import BusLogic
import BusMachine
import EtcdLog
import FluxBus

/// Gets the replica of another member, from where that member says that others get it.
struct ReplicaSource: Sendable {
    let settings: ClusterSettings
    let types: [any StateType]
    let hashSeed: UInt64

    /// How long one member has for each part.
    private static let patience = Duration.seconds(30)
    /// How long it has for the first one, for which it makes all of them: some ten seconds for a million stores.
    private static let patienceAtFirst = Duration.seconds(180)

    /// Gets the replica of one of the other members that are present. `tell` hears why those that were asked gave none.
    ///
    /// - Parameter place: The shared log has nothing that lies before it.
    func replica(
        from others: [OrderedLogMember], trimmedBefore place: Int, tell: (String) -> Void
    ) -> Replica? {
        if others.isEmpty {
            tell(
                "the shared log no longer has what lies before place \(place), and no other member is present to give its snapshot: start one that has the bus, or, for a new bus, use an etcd that was never compacted"
            )
        }
        for member in others {
            guard let report = MemberReport(member.report), !report.about.address.isEmpty else {
                tell(
                    "the member \(member.name) does not say where others get its snapshot; give it advertise: under cluster:"
                )
                continue
            }
            do {
                return try fetch(from: report.about)
            } catch {
                tell("no snapshot of the member \(member.name): \(error)")
            }
        }
        return nil
    }

    private func fetch(from member: MemberReport.About) throws -> Replica {
        let connection = try settings.connect(to: member.address, within: Self.patience)
        // What it gives is taken for compared with the log, which may have been restored since: so it has to reach the log first.
        _ = try connection.request(BusRequest("sync"), until: Deadline(after: Self.patience))
        var bytes: [UInt8] = []
        var size = Int.max
        var place: JSON?
        while bytes.count < size {
            let reply = try connection.request(
                BusRequest(
                    "cluster",
                    [
                        "offset": .int(bytes.count),
                        "token": member.token.isEmpty ? nil : .string(member.token),
                    ]),
                until: Deadline(after: bytes.isEmpty ? Self.patienceAtFirst : Self.patience))
            guard let total = reply["bytes"]?.int, let text = reply["data"]?.string,
                let part = Base64.decode(text), !part.isEmpty, place == nil || place == reply["place"]
            else { throw ClusterRefusalText("its parts do not fit together; ask again") }
            place = reply["place"]
            size = total
            bytes += part
        }
        do throws(TransferFailure) {
            return try bytes.span.withUnsafeBytes { (bytes) throws(TransferFailure) in
                try Replica(restoring: bytes, knowing: types, hashSeed: hashSeed) { SharedCommits($0) }
            }
        } catch {
            throw ClusterRefusalText(error.message)
        }
    }
}

extension ClusterSettings {
    /// Connects to another member, as this one.
    func connect(to address: String, within patience: Duration) throws(BusError) -> BusConnection {
        try BusConnection(
            to: try BusAddress(parsing: address),
            tls: TLSOptions(ca: ca?.value, certificate: certificate?.value, key: key?.value),
            until: Deadline(after: patience))
    }
}

/// A reason in words.
struct ClusterRefusalText: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
