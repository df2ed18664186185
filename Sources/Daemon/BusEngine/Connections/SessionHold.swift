import BusJSON
import BusMachine
import BusProtocol

/// The session that a connection has, or will have when it needs one.
struct SessionHold {
    /// Most connections hold nothing: no room is taken for it before.
    private final class Contents {
        @exclusivity(unchecked) var session: Session?
        @exclusivity(unchecked) var name: String?
        @exclusivity(unchecked) var linger = 0
        @exclusivity(unchecked) var willBytes = 0
        @exclusivity(unchecked) var number = 0
        @exclusivity(unchecked) var hasLeft = false
    }
    private var contents: Contents?

    /// The will and the ephemeral stores; nil until there are some.
    var session: Session? { contents?.session }
    /// The name by which the client takes the session over, and how long that may take, in milliseconds.
    var name: String? { contents?.name }
    var linger: Int { contents?.linger ?? 0 }
    /// What the will counts as in the memory of the daemon.
    var willBytes: Int { contents?.willBytes ?? 0 }

    // On a shared bus.
    /// Its number among the sessions of this member; 0 before one is needed.
    var number: Int { contents?.number ?? 0 }
    /// The client has asked for something that ends with it.
    var hasLeft: Bool { contents?.hasLeft ?? false }

    private mutating func begin() -> Contents {
        let contents = contents ?? Contents()
        self.contents = contents
        return contents
    }

    mutating func take(_ session: Session?) {
        if session != nil || contents != nil { begin().session = session }
    }

    /// Another connection takes it over.
    mutating func give() {
        contents?.session = nil
        contents?.name = nil
    }

    mutating func name(_ name: String?, linger: Int) {
        guard name != nil || contents != nil else { return }
        let contents = begin()
        (contents.name, contents.linger) = (name, linger)
    }

    mutating func loseName() { contents?.name = nil }

    /// Throws if the connection has a session with another name.
    func requireName(_ wanted: String) throws(RequestError) {
        if let name, !UTF8Order.equal(name, wanted) {
            throw .invalid(
                "session", "This connection has the session \(name); open another one for \(wanted).")
        }
    }

    /// Sets what the will counts as; returns by how many bytes that is more.
    mutating func count(will bytes: Int) -> Int {
        let growth = bytes - willBytes
        if growth != 0 { begin().willBytes = bytes }
        return growth
    }

    mutating func begin(_ number: () -> Int) { if self.number == 0 { begin().number = number() } }
    mutating func noteLeft() { begin().hasLeft = true }
}
