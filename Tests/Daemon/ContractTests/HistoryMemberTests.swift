import BusJSON
import TestFiles
import TestModes
import TestSupport
import Testing

/// The protocol page names every member of a commit that `history` tells, and no other.
@Suite(.inBothModes) struct HistoryMemberTests {
    private static let note = """
        type: note
        initial: { text: "" }
        actions: { write: { payload: { text: string }, set: { text: { var: payload.text } } } }
        """

    /// Commits of every kind there is.
    private func bus() throws -> MemoryBus {
        let bus = try MemoryBus.logging("counter/a") { $0.definitions = [Self.note] }
        let client = bus.connect(uid: 0)
        try client.reply(to: #"{"op":"hello","session":"gate","linger":"10s"}"#)
        for line in [
            #"{"op":"create","store":"note/a"}"#,
            #"{"op":"create","store":"counter/leased","ttl":600}"#,
            #"{"op":"create","store":"counter/mine","ephemeral":true}"#,
            #"{"op":"dispatch","store":"note/a","action":"write","payload":{"text":"x"},"key":"k","traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}"#,
            #"{"op":"dispatch","actions":[{"op":"create","store":"counter/b"},{"op":"drop","store":"counter/b"}]}"#,
            #"{"op":"dispatch","store":"counter/a","action":"increment","in":"5m","timer":"tea"}"#,
            #"{"op":"cancel","store":"counter/a","timer":"tea"}"#,
            #"{"op":"dispatch","store":"counter/a","action":"increment","in":"1s"}"#,
        ] { try client.revision(after: line) }
        bus.advance(milliseconds: 1000)
        try client.revision(after: #"{"op":"revert","store":"note/a","revision":2}"#)
        bus.definitions = [Self.note.replacing(#"{ text: "" }"#, with: #"{ text: "", more: 1 }"#)]
        try client.revision(after: #"{"op":"reload"}"#)
        try client.revision(after: #"{"op":"drop","store":"note/a"}"#)
        bus.definitions = []
        bus.access = "roles: { admin: [{ uid: 0 }] }\nrules: [{ role: admin, may: all }]\n"
        try client.revision(after: #"{"op":"reload"}"#)
        // As a start does behind a clock that was ahead.
        if BusMode.current == .alone { bus.engine.turnBack(to: bus.now - 86_400_000) }
        return bus
    }

    /// What the page names: in its sentence on every commit, and in the first column of the table below it.
    private func named() throws -> Set<String> {
        let page = try Repository.text("Sources/Core/BusProtocol/BusProtocol.docc/Protocol.md")
        let section = try #require(
            page.components(separatedBy: "\nEach commit has ").dropFirst().first?
                .components(separatedBy: "\n### ").first)
        let parts = section.components(separatedBy: "\n\n")
        let table = parts.dropFirst().joined(separator: "\n").split(separator: "\n").compactMap {
            $0.split(separator: "|").first.map(String.init)
        }
        let sentence = try #require(parts.first)
        let words = ([sentence] + table).flatMap { $0.matches(of: /`([A-Za-z]+)`/).map { String($0.1) } }
        // These are of an action.
        return Set(words).subtracting(["result", "results", "index"])
    }

    @Test func thePageNamesEveryMember() throws {
        let bus = try bus()
        let reply = try bus.connect(uid: 0).reply(to: #"{"op":"history","limit":1000}"#)
        let commits = try #require(reply["commits"]?.array, "\(reply)")
        let told = Set(commits.flatMap { $0.object?.keys ?? [] })
        // The time of a shared bus is not that of one clock.
        #expect(try named().subtracting(BusMode.current == .shared ? ["advanced"] : []) == told)
    }
}
