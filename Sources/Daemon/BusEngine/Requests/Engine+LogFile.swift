import BusCommands
import BusMachine
import BusProtocol

/// Requests about the log as a file, of who manages the bus. The log does them beside the bus, and the connection waits.
extension Engine {
    /// Gives a part of a copy of the log.
    func backUp(_ connection: Connection) throws(RequestError) {
        let offset = try request.integer(.offset, least: 0) ?? 0
        try requireManager(connection, to: "copy the log")
        ask(.backup(offset: offset), connection)
    }

    /// Gives all free pages of the log's file back.
    func compact(_ connection: Connection) throws(RequestError) {
        try requireManager(connection, to: "compact the log")
        ask(.compact, connection)
    }

    private func requireManager(_ connection: Connection, to deed: String) throws(RequestError) {
        if let grants = connection.access.grants {
            guard grants.mayManage else { throw Commands.forbidden("manage", "the bus") }
        } else {
            try admission.requireOperator(connection.access.principal!, to: deed)
        }
        try admission.requireLog()
    }
}
