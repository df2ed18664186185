import BusJSON

/// Who is known: identities by number, and the principals that the log has named.
struct Identities {
    /// The member of a bus over several machines whose clients ask here; nil: the bus is this machine's alone. Members
    /// agree on everything that is numbered here, so clients get no number by merely connecting.
    var member: String?
    private var numbers: [Identity: Int32] = [:]
    /// Principals of the log, by `by`.
    private var principals: [String: Principal] = [:]
    private var knowledge = SharedKnowledge()
    /// Those made lately of clients on this machine, the newest last: connections of one process mostly have the same.
    private var recent: [Principal] = []
    private static let mostRecent = 16

    /// In the order in which they were first seen.
    var inOrder: [Identity] { numbers.sorted { $0.value < $1.value }.map(\.key) }

    subscript(identity: Identity) -> Int32? { numbers[identity] }

    /// Nil if there is none with this number.
    func identity(number: Int) -> Identity? { numbers.first { Int($0.value) == number }?.key }

    /// The number of an identity, which gets the next one if it is new.
    mutating func number(of identity: Identity) -> Int32 {
        let number = numbers[identity] ?? Int32(numbers.count)
        numbers[identity] = number
        return number
    }

    /// The principal of a client.
    mutating func principal(_ identity: Identity, number: Int32, peer: Peer, by: [UInt8]) -> Principal {
        let known = recent.first {
            $0.number == number && $0.by == by && $0.identity == identity && $0.peer == peer
        }
        if let known { return known }
        let made = Principal(identity, number: number, peer: peer, by: by, who: knowledge.who(by))
        // Another connection over TCP comes from another address.
        guard case .unix = peer else { return made }
        if recent.count == Self.mostRecent { recent.removeFirst() }
        recent.append(made)
        return made
    }

    /// The principal that the log has shown in this way.
    func principal(shownAs by: String) -> Principal? { principals[by] }

    mutating func remember(_ principal: Principal, shownAs by: String) {
        // Processes come and go; a principal that comes back is made again.
        if principals.count > 4096 { principals.removeAll() }
        principals[by] = principal
    }

    /// The users of this machine are those of a member from now on.
    mutating func move(to member: String) {
        for (identity, number) in numbers {
            guard case .uid(let uid) = identity, numbers[.user(uid, member: member)] == nil else { continue }
            numbers[identity] = nil
            numbers[.user(uid, member: member)] = number
        }
        (principals, recent) = ([:], [])
    }

    /// Those of another machine are known now.
    mutating func become(_ other: Identities) { (numbers, principals, recent) = (other.numbers, [:], []) }
}

/// What rules know of the principals made lately. Those of one user mostly share it, however many connections it has.
struct SharedKnowledge {
    /// The newest last, each with its JSON: equal strings need not have the same bytes.
    private var recent: [(text: String, who: JSON)] = []
    private static let most = 16

    mutating func who(_ by: [UInt8]) -> JSON {
        let who = Principal.who(by)
        let text = who.encoded
        if let known = recent.first(where: { UTF8Order.equal($0.text, text) }) { return known.who }
        if recent.count == Self.most { recent.removeFirst() }
        recent.append((text, who))
        return who
    }
}
