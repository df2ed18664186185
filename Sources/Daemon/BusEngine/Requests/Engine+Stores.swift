import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Creates and drops stores; each time is a commit.
extension Engine {
    /// Creates a store that the configuration lists, for the daemon itself. One that exists is left alone.
    package func createConfigured(_ address: String) throws(RequestError) {
        if machine.find(address) != nil { return }
        let details = CommitDetails()
        details.created = [try machine.create(address, nil, by: .daemon)]
        commit(by: .daemon, actions: false, details)
    }

    /// The session of a connection, which is opened when it is first needed.
    func session(of connection: Connection) -> Session {
        if let session = connection.hold.session { return session }
        let session = machine.openSession(connection.access.principal!)
        connection.hold.take(session)
        if let name = connection.hold.name {
            machine.name(session, name, linger: connection.hold.linger, connection.access.principal!)
        }
        return session
    }
}
