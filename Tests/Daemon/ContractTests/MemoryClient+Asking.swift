import BusJSON
import TestSupport
import Testing

extension MemoryClient {
    /// Sends a request and gives its reply. Events that came before it are passed over; they are `all` of what
    /// came, where a test wants them.
    @discardableResult
    func reply(to line: String) throws -> JSON {
        let lines = try ask(line)
        return try #require(lines.last { $0["ok"] != nil }, "There is no reply to \(line)")
    }

    /// The error code of the reply; nil when the request was carried out.
    func code(of line: String) throws -> String? { try reply(to: line)["error"]?["code"]?.string }

    /// Sends a request that must be carried out, and gives the revision of its reply.
    @discardableResult
    func revision(after line: String) throws -> Int {
        let reply = try reply(to: line)
        #expect(reply["ok"] == true, "\(reply)")
        return try #require(reply["revision"]?.int, "\(reply)")
    }

    @discardableResult
    func increment(_ store: String = "counter/a", by count: Int = 1) throws -> Int {
        try revision(
            after: #"{"op":"dispatch","store":"\#(store)","action":"increment","payload":{"by":\#(count)}}"#)
    }

    func state(of store: String) throws -> JSON? {
        try reply(to: #"{"op":"get","store":"\#(store)"}"#)["states"]?[store]
    }

    /// The connection is alive and owes nothing.
    func isUsable() throws -> Bool {
        let lines = try ask(#"{"op":"ping","id":"still here"}"#)
        return lines.count == 1 && lines[0]["id"] == "still here" && lines[0]["ok"] == true
    }
}

extension MemoryBus {
    /// A bus with some stores.
    static func with(_ stores: String..., limits: (inout Setup) -> Void = { _ in }) throws -> MemoryBus {
        var setup = Setup()
        setup.stores = stores
        limits(&setup)
        return try MemoryBus(setup)
    }
}
