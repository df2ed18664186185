import BusCluster
import BusJSON
import BusMachine
import BusProtocol

/// A bus that several machines share, as the engine of one member sees it: nothing is committed because a client asks, but
/// because the shared log delivers what some member has proposed.
final class SharedRequests {
    /// Whether the bus is shared.
    @exclusivity(unchecked) private(set) var isOn = false
    /// What replies tell of the member: its bus, its name, and whether it reaches the log.
    var condition: JSONObject = [:]

    private var lastTicket = 0
    private var lastSession = 0
    /// Whose the requests are that are on their way.
    private var owners: [Int: ConnectionID] = [:]
    /// Ends of sessions that are on their way, by ticket: they are tried until they have come through.
    private var ends: [Int: ClusterEntry] = [:]
    /// Those that are to be asked for again.
    private var failedEnds: [ClusterEntry] = []
    /// What the daemon itself has asked for, by ticket.
    private var own: [Int: String] = [:]
    private var queries: [Int: ConnectionID] = [:]

    func begin() { isOn = true }

    func nextTicket() -> Int {
        lastTicket += 1
        return lastTicket
    }

    /// The number of a session, unlike a connection's never used again.
    func nextSession() -> Int {
        lastSession += 1
        return lastSession
    }

    func own(_ ticket: Int, by connection: Connection) { owners[ticket] = connection.id }
    func takeOwner(of ticket: Int) -> ConnectionID? { owners.removeValue(forKey: ticket) }
    func forget(_ connection: Connection) {
        for ticket in connection.entries.tickets { owners[ticket] = nil }
    }

    func awaitEnd(_ ticket: Int, _ entry: ClusterEntry) { ends[ticket] = entry }
    func takeEnd(_ ticket: Int) -> ClusterEntry? { ends.removeValue(forKey: ticket) }
    func keep(failed end: ClusterEntry) { failedEnds.append(end) }
    func takeFailedEnds() -> [ClusterEntry] {
        defer { failedEnds = [] }
        return failedEnds
    }

    func awaitOwn(_ ticket: Int, _ what: String) { own[ticket] = what }
    func takeOwn(_ ticket: Int) -> String? { own.removeValue(forKey: ticket) }
    /// Whether the daemon itself waits for something that it has asked for.
    var awaitsOwn: Bool { !own.isEmpty }
}

/// A question about the members of the bus, for the owner of the engine: `answer(_:with:)` brings the answer.
package struct ClusterQuery: Sendable {
    package enum Subject: Sendable {
        case members
        /// The member is to leave the bus, and the daemon to end.
        case leave
        /// A part of a snapshot of the replica, from this byte on.
        case replica(offset: Int)
    }

    package let connection: ConnectionID
    package let number: Int
    package let subject: Subject
}
