import BusEngine

/// The owner of the sockets, as far as the writing order needs to know it.
package protocol SocketWriter: AnyObject {
    /// Passes on the connections for which something has become ready.
    func takeReady(_ body: (ConnectionID) -> Void)
    /// The number of the user whose connection it is.
    func userNumber(of id: ConnectionID) -> Int
    /// Whether other connections are written to before this one.
    func comesLater(_ id: ConnectionID) -> Bool
    /// Whether a reply is among what is to be written to it.
    func hasReply(_ id: ConnectionID) -> Bool
    /// Whether the turn has room for more.
    var hasRoom: Bool { get }
    /// Writes to a connection, at once or with the next ones, which may make something ready for others. `afterOthers`: others
    /// came before it.
    func write(_ id: ConnectionID, afterOthers: Bool)
    /// Writes what was put off to be written together.
    func writeGathered()
}

/// The order in which connections are written to at the end of a turn.
///
/// Connections with little output come first: of each user one after the other. Of one user's, one with a reply and one
/// without take turns, each in the order of arrival: a reply does not wait for thousands of subscribers. Those that
/// come after others wait in a queue of their own. A connection that is not reached in one turn keeps its place for the
/// next.
package final class WritingOrder {
    /// By the number of their user, and the users of whom there are some, each once.
    @exclusivity(unchecked) private var first: [Lines] = []
    @exclusivity(unchecked) private var users = Line()
    @exclusivity(unchecked) private var later = Line()
    /// The connections in the second queue, by number: each is there at most once.
    @exclusivity(unchecked) private var isPutOff: [Bool] = []
    /// The connections in the first, with a reply and without: each is there at most once in either.
    @exclusivity(unchecked) private var hasReplyPlace: [Bool] = []
    @exclusivity(unchecked) private var hasEventPlace: [Bool] = []

    package init() {}

    package var isEmpty: Bool { users.isEmpty && later.isEmpty }

    /// Output is to be written to a connection, or it is to be checked.
    package func add(_ id: ConnectionID, of user: Int, hasReply: Bool = false) {
        while hasEventPlace.count <= id {
            hasEventPlace.append(false)
            hasReplyPlace.append(false)
        }
        if hasReplyPlace[id] || !hasReply && hasEventPlace[id] { return }
        while first.count <= user { first.append(Lines()) }
        if first[user].isEmpty { users.append(user) }
        if hasReply {
            hasReplyPlace[id] = true
            first[user].replies.append(id)
        } else {
            hasEventPlace[id] = true
            first[user].events.append(id)
        }
    }

    private func addReady(_ writer: some SocketWriter) {
        writer.writeGathered()
        writer.takeReady { add($0, of: writer.userNumber(of: $0), hasReply: writer.hasReply($0)) }
    }

    /// Writes to all connections that are due, as far as the turn has room; the others, and those that become ready at
    /// its end, are due in the next one.
    package func write(with writer: some SocketWriter) {
        addReady(writer)
        var isOneServed = false
        while true {
            if writer.hasRoom, let id = takeFirst(writer) {
                writer.write(id, afterOthers: false)
            } else if !isOneServed || writer.hasRoom, let id = takeLater() {
                // However much there was for others, one of these has its turn.
                isOneServed = true
                writer.write(id, afterOthers: true)
            } else {
                break
            }
        }
        addReady(writer)
    }

    /// The next one of the first queue, including those that have become ready meanwhile.
    private func takeFirst(_ writer: some SocketWriter) -> ConnectionID? {
        if let id = takeWaiting(writer) { return id }
        addReady(writer)
        return takeWaiting(writer)
    }

    private func takeWaiting(_ writer: some SocketWriter) -> ConnectionID? {
        while let user = users.takeFirst() {
            let (id, isReply) = first[user].takeFirst()
            if isReply { hasReplyPlace[id] = false } else { hasEventPlace[id] = false }
            if !first[user].isEmpty { users.append(user) }
            guard writer.comesLater(id) else { return id }
            putOff(id)
        }
        return nil
    }

    private func takeLater() -> ConnectionID? {
        guard let id = later.takeFirst() else { return nil }
        isPutOff[id] = false
        return id
    }

    private func putOff(_ id: ConnectionID) {
        while isPutOff.count <= id { isPutOff.append(false) }
        if isPutOff[id] { return }
        isPutOff[id] = true
        later.append(id)
    }

    /// One user's connections.
    private struct Lines {
        var replies = Line()
        var events = Line()
        private var wasReply = false

        var isEmpty: Bool { replies.isEmpty && events.isEmpty }

        /// The next one of some; they take turns.
        mutating func takeFirst() -> (id: Int, isReply: Bool) {
            wasReply = events.isEmpty || !wasReply && !replies.isEmpty
            return (wasReply ? replies.takeFirst()! : events.takeFirst()!, wasReply)
        }
    }

    /// A queue of numbers: first come, first served.
    private struct Line {
        private var ids: [Int] = []
        private var head = 0

        var isEmpty: Bool { head == ids.count }

        mutating func append(_ id: Int) { ids.append(id) }

        mutating func takeFirst() -> Int? {
            guard head < ids.count else { return nil }
            let id = ids[head]
            head += 1
            if head == ids.count {
                ids.removeAll(keepingCapacity: true)
                head = 0
            } else if head > 1024, head * 2 > ids.count {
                ids.removeFirst(head)
                head = 0
            }
            return id
        }
    }
}
