import BusJSON
import BusMachine
import BusProtocol

/// The session that a connection has, or will have when it needs one.
struct SessionHold {
    /// The will and the ephemeral stores; nil until there are some.
    private(set) var session: Session?
    /// The name by which the client takes the session over, and how long that may take, in milliseconds.
    private(set) var name: String?
    private(set) var linger = 0
    /// What the will counts as in the memory of the daemon.
    private(set) var willBytes = 0

    // On a shared bus.
    /// Its number among the sessions of this member; 0 before one is needed.
    private(set) var number = 0
    /// The client has asked for something that ends with it.
    private(set) var hasLeft = false

    mutating func take(_ session: Session?) { self.session = session }

    /// Another connection takes it over.
    mutating func give() { (session, name) = (nil, nil) }

    mutating func name(_ name: String?, linger: Int) { (self.name, self.linger) = (name, linger) }
    mutating func loseName() { name = nil }

    /// Throws if the connection has a session with another name.
    func requireName(_ wanted: String) throws(RequestError) {
        if let name, !UTF8Order.equal(name, wanted) {
            throw .invalid(
                "session", "This connection has the session \(name); open another one for \(wanted).")
        }
    }

    /// Sets what the will counts as; returns by how many bytes that is more.
    mutating func count(will bytes: Int) -> Int {
        defer { willBytes = bytes }
        return bytes - willBytes
    }

    mutating func begin(_ number: () -> Int) { if self.number == 0 { self.number = number() } }
    mutating func noteLeft() { hasLeft = true }
}
