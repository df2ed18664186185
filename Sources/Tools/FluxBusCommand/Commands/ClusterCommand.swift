import ArgumentParser
import BusJSON
import FluxBus

/// `fluxbus cluster`: the members of a bus that several machines share.
package struct ClusterCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Show the machines that share the bus.",
        discussion: """
            Examples:
              fluxbus cluster
              fluxbus cluster leave       the daemon leaves the bus, and stops
              fluxbus cluster rescue      what is left of the bus here, where it does not come back

            BEHIND counts the revisions that a member has yet to apply; STORED is the place in the log up to which \
            it has everything on its disk; CLOCK says when the bus last saw the member's clock. A member that \
            does not agree has come to other states by the same log: the journal of its fluxbusd says from \
            which revision on.
            """,
        subcommands: [ClusterLeaveCommand.self, ClusterRescueCommand.self])

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let reply = try session.ask(BusRequest("cluster"))
        let cluster = reply["cluster"] ?? .object(reply)
        let console = session.console
        guard console.form == .text else {
            try console.line(cluster)
            return .success
        }
        let now = session.context.now()
        let standing = ClusterStanding(cluster, now: now)
        let epoch = cluster["epoch"]?.string ?? "?"
        let revision = cluster["revision"]?.encoded ?? "?"
        let relay = cluster["from"]?.string.map { ", reading through \($0)" } ?? ""
        let head = ScreenText.safe("\(standing.headline)\(relay), epoch \(epoch), revision \(revision)")
        try console.line(console.style.paint(head, standing.trouble == nil ? .plain : .failure))
        var table = Table("MEMBER", "WHICH", "BEHIND", "STORED", "CLOCK", "AGREES", "VERSION", "ADDRESS")
        for member in cluster["members"]?.array ?? [] {
            table.add(Self.row(of: member, isThis: member["name"]?.string == standing.member, now: now))
        }
        try console.table(table, orNote: "The bus has no members.")
        return .success
    }

    /// What a member does not tell is left empty.
    private static func row(of member: JSON, isThis: Bool, now: Int) -> [Table.Cell] {
        func number(_ name: String) -> String { member[name]?.encoded ?? "" }
        let agrees = member["agrees"]?.bool
        return [
            .init(member["name"]?.string ?? "", .address), .init(isThis ? "this" : "other"),
            .init(number("behind")), .init(number("stored")),
            .init(ClusterStanding.age(of: member["clock"], now: now)),
            .init(agrees.map { $0 ? "yes" : "no" } ?? "", agrees == false ? .failure : .plain),
            .init(member["version"]?.string ?? ""), .init(member["address"]?.string ?? "", .address),
        ]
    }
}

/// `fluxbus cluster leave`: the end of a member, in order.
package struct ClusterLeaveCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "leave",
        abstract: "Make the daemon leave the bus that it shares, and stop.",
        discussion: """
            Examples:
              fluxbus cluster leave

            It is the daemon that this command is connected to. Its sessions end on the whole bus, with their wills, at once and \
            not only when its lease runs out. The daemon then stops; started again, it is a member again.
            """)

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let reply = try session.ask(BusRequest("cluster", ["leave": true]))
        try session.console.answer("left the bus; the daemon stops", .object(reply))
        return .success
    }
}
