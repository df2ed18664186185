/// One request to commit, as it stands in the shared log. Whether it is committed is decided where it is applied, by every
/// member alike.
package struct ClusterEntry: Equatable, Sendable {
    package enum Command: Equatable, Sendable {
        /// A client's request as one line of JSON: dispatch (also one that comes later), create, drop, cancel or will.
        case request([UInt8])
        /// A request to revert, and the state of that time as its origin found it: `{"state":…,"version":…}`.
        case revert([UInt8], past: [UInt8])
        /// The session gets a name by which its client takes it over; or takes over the one that has it.
        case sessionNamed(String, linger: Int)
        /// The session's connection has ended.
        case sessionEnded
        /// What decides outcomes: `{"types":[…],"access":…,"limits":{…}}`, each member if it changes.
        case configure([UInt8])
    }

    /// The member's number for the session that asks: of a connection, for one. 0: the member itself.
    package let session: Int
    /// Who asks, as in the log and in events, without the member.
    package let by: [UInt8]
    /// The origin vouches that who asks is an operator of its machine.
    package let isOperator: Bool
    package let command: Command

    package init(session: Int, by: [UInt8], isOperator: Bool = false, _ command: Command) {
        self.session = session
        self.by = by
        self.isOperator = isOperator
        self.command = command
    }

    /// The most bytes that a proposal takes besides its entries.
    package static let overhead = 256

    /// The daemon as a principal: of entries that the member itself asks for.
    package static let daemon = Array("{\"daemon\":true}".utf8)

    /// At least what it takes in a proposal, in bytes.
    package var size: Int {
        let body =
            switch command {
            case .request(let line), .configure(let line): line.count
            case .revert(let line, let past): line.count + past.count
            case .sessionNamed(let name, _): name.utf8.count
            case .sessionEnded: 0
            }
        return body + by.count + 24
    }
}
