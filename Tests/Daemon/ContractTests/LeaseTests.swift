import BusJSON
import TestModes
import TestSupport
import Testing

/// A store with a `ttl` is dropped when no dispatch has matched it for that long, and not before.
@Suite(.inBothModes) struct LeaseTests {
    private let create = #"{"op":"create","store":"counter/l","ttl":"1m"}"#
    private let add = #"{"op":"dispatch","store":"counter/l","action":"increment"}"#

    private func exists(_ store: String, _ client: MemoryClient) throws -> Bool {
        try client.state(of: store) != nil
    }

    @Test func storeIsDroppedWhenNothingTouchedIt() throws {
        let bus = try TimedBus.make()
        let client = bus.connect()
        let revision = try client.revision(after: create)
        try client.reply(to: #"{"op":"subscribe","match":"counter/*","initial":false}"#)
        bus.advance(milliseconds: 59_999)
        #expect(try exists("counter/l", client))
        bus.advance(milliseconds: 1)
        let event = try #require(try client.next())
        #expect(event["dropped"] == ["counter/l"])
        #expect(event["revision"]?.int == revision + 1)
        bus.advance(milliseconds: 600_000)
        #expect(bus.engine.revision == revision + 1)
    }

    /// Any dispatch that matches it renews a lease, whether it changes something or not, and however it is addressed.
    @Test(arguments: [
        #"{"op":"dispatch","store":"loan/l","action":"add"}"#,
        #"{"op":"dispatch","store":"loan/l","action":"look"}"#,
        #"{"op":"dispatch","type":"loan","action":"look"}"#,
        #"{"op":"dispatch","type":"*","action":"look"}"#,
        #"{"op":"dispatch","actions":[{"type":"counter","action":"increment"},{"store":"loan/l","action":"add"}]}"#,
    ])
    func dispatchThatMatchesRenews(_ request: String) throws {
        let bus = try TimedBus.make()
        let client = bus.connect()
        try client.revision(after: #"{"op":"create","store":"loan/l"}"#)
        for _ in 0..<3 {
            bus.advance(milliseconds: 40_000)
            try client.revision(after: request)
        }
        bus.advance(milliseconds: 59_999)
        #expect(try exists("loan/l", client))
        bus.advance(milliseconds: 1)
        #expect(try !exists("loan/l", client))
    }

    @Test(arguments: [
        #"{"op":"dispatch","store":"loan/l","action":"refuse"}"#,
        #"{"op":"dispatch","store":"loan/l","action":"add","dryRun":true}"#,
        #"{"op":"dispatch","actions":[{"store":"loan/l","action":"add"},{"store":"loan/l","action":"refuse"}]}"#,
        #"{"op":"dispatch","store":"loan/other","action":"add"}"#,
        #"{"op":"dispatch","store":"loan/l","action":"add","in":"1h"}"#,
        #"{"op":"get","store":"loan/l"}"#,
    ])
    func whatDoesNotReachTheStoreRenewsNothing(_ request: String) throws {
        let bus = try TimedBus.make()
        let client = bus.connect()
        try client.revision(after: #"{"op":"create","store":"loan/l"}"#)
        try client.revision(after: #"{"op":"create","store":"loan/other"}"#)
        bus.advance(milliseconds: 40_000)
        try client.reply(to: request)
        bus.advance(milliseconds: 20_000)
        #expect(try !exists("loan/l", client))
    }

    /// A store of a type whose writes are worked out once for all stores is renewed all the same.
    @Test func plainDispatchRenews() throws {
        let bus = try TimedBus.make()
        let client = bus.connect()
        try client.revision(after: #"{"op":"create","store":"counter/l","ttl":60}"#)
        for _ in 0..<3 {
            bus.advance(milliseconds: 40_000)
            try client.increment("counter/l")
        }
        #expect(try exists("counter/l", client))
        bus.advance(milliseconds: 60_000)
        #expect(try !exists("counter/l", client))
        #expect(try client.increment() > 0)
    }

    @Test func timersActionRenews() throws {
        let bus = try TimedBus.make()
        let client = bus.connect()
        try client.revision(after: #"{"op":"create","store":"loan/l"}"#)
        try client.revision(after: #"{"op":"dispatch","store":"loan/l","action":"look","in":"50s"}"#)
        bus.advance(milliseconds: 50_000)
        bus.advance(milliseconds: 59_999)
        #expect(try exists("loan/l", client))
        bus.advance(milliseconds: 1)
        #expect(try !exists("loan/l", client))
    }

    @Test func configuredStoresAndThoseThatSaySoStay() throws {
        let bus = try TimedBus.make { $0.stores = ["loan/configured"] }
        let client = bus.connect()
        try client.revision(after: #"{"op":"create","store":"loan/l","ttl":null}"#)
        try client.revision(after: #"{"op":"create","store":"loan/long","ttl":"1h"}"#)
        bus.advance(milliseconds: 60_000)
        for store in ["loan/configured", "loan/l", "loan/long"] { #expect(try exists(store, client)) }
        let listed = try client.reply(to: #"{"op":"stores","match":"loan/*"}"#)["stores"]?.array
        #expect(listed?.map { $0["ttl"]?.int } == [nil, nil, 3600])
    }

    @Test func revertRenews() throws {
        let bus = try TimedBus.make(logged: true)
        let client = bus.connect()
        let revision = try client.revision(after: #"{"op":"create","store":"loan/l"}"#)
        bus.advance(milliseconds: 40_000)
        try client.revision(after: #"{"op":"revert","store":"loan/l","revision":\#(revision)}"#)
        let digest = bus.engine.stateDigest
        #expect(try bus.crash().engine.stateDigest == digest)
        bus.advance(milliseconds: 59_999)
        #expect(try exists("loan/l", client))
        bus.advance(milliseconds: 1)
        #expect(try !exists("loan/l", client))
    }

    @Test(arguments: ["0", "\"soon\"", "-1", "\"11000d\"", "true"])
    func wrongLeaseIsRefused(_ ttl: String) throws {
        let client = try TimedBus.make().connect()
        #expect(try client.code(of: create.replacing("\"1m\"", with: ttl)) == "invalid_request")
    }
}
