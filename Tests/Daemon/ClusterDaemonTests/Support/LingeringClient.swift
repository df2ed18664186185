import BusJSON
import TestServer

/// A client with a session that lingers, in which it has left a will and an ephemeral store.
final class LingeringClient {
    /// What it does when its member goes.
    enum Fate: CaseIterable {
        case moves
        case stays
        case goes
    }

    let fate: Fate
    /// Of its session, and what its will enters.
    let name: String
    private let token: Int
    private(set) var member: TestMember
    private(set) var connection: LineClient

    /// Tokens of others are below.
    private static let firstToken = 20
    /// Longer than any test takes.
    static let long = "10m"
    static let short = "300ms"

    init(_ fate: Fate, _ number: Int, at member: TestMember) throws {
        (self.fate, self.member) = (fate, member)
        name = "\(fate)-\(member.name)\(number)"
        token = Self.firstToken + number
        connection = try member.client(token: token)
        guard try hello(lingering: fate == .goes ? Self.short : Self.long) == false else {
            throw TestCluster.Failure(description: "There is a session \(name) already.")
        }
        try ask(#""op":"create","store":"\#(store)","ephemeral":true"#)
        let enter = #"{"store":"\#(ClusterTypes.wills)","action":"enter","payload":{"mark":"\#(name)"}}"#
        try ask(#""op":"will","actions":[\#(enter)]"#)
    }

    var store: String { "counter/\(name)" }

    /// Its will, as one that has to be carried out.
    var will: BusOperation {
        BusOperation(
            kind: .will, mark: name, store: ClusterTypes.wills, least: 0,
            answers: [.done(revision: 0, isDuplicate: false)])
    }

    /// Goes to a member, and leaves its connection open; whether something was left in its session.
    func resume(at member: TestMember, lingering linger: String = LingeringClient.long) throws -> Bool {
        connection = try member.client(token: token)
        self.member = member
        return try hello(lingering: linger)
    }

    /// Lets its session linger for so long from now on; whether something was left in it.
    @discardableResult
    func hello(lingering linger: String = LingeringClient.long) throws -> Bool {
        try ask(#""op":"hello","session":"\#(name)","linger":"\#(linger)""#)["resumed"] == true
    }

    /// Its ephemeral store is still there.
    func dispatch() throws { try ask(#""op":"dispatch","store":"\#(store)","action":"increment""#) }

    func leaveForGood() throws {
        try hello(lingering: "0s")
        connection.close()
    }

    @discardableResult
    private func ask(_ members: String) throws -> JSON {
        let reply = try JSON(parsing: connection.reply(to: "{\(members)}"))
        guard reply["ok"] == true else {
            throw TestCluster.Failure(description: "\(name): \(reply) in answer to \(members)")
        }
        return reply
    }
}
