/// Buses with something of every kind, whose bytes tests tear and alter.
extension MemoryBus {
    /// One that hands over a record of every kind.
    package static func withEveryRecord() throws -> MemoryBus {
        var setup = Setup()
        setup.limits.daemon.outbox = 4096
        setup.stores = ["counter/a", "counter/b", "door/front"]
        setup.tokens = ["secret": "laptop"]
        let bus = try MemoryBus(setup)
        let (client, slow, remote) = (
            bus.connect(uid: 0), bus.connect(), bus.connect(.tcp(address: "[::1]:9"))
        )
        try remote.ask(#"{"op":"hello","token":"secret"}"#)
        try client.ask(#"{"op":"create","store":"counter/mine","ephemeral":true}"#)
        try client.ask(#"{"op":"will","actions":[{"store":"counter/a","action":"increment"}]}"#)
        try client.ask(#"{"op":"dispatch","type":"counter","action":"increment","key":"k"}"#)
        try client.ask(#"{"op":"create","store":"counter/gone"}"#)
        try client.ask(#"{"op":"drop","store":"counter/gone"}"#)
        try slow.ask(#"{"op":"subscribe","match":"counter/*","select":["/count"],"format":"patch"}"#)
        try remote.ask(#"{"op":"subscribe","store":"door/front","actions":true}"#)
        slow.isReading = false
        for _ in 0..<60 { try client.ask(increment) }
        slow.send(#"{"op":"ping"}"#)
        client.send(bytes: Array(#"{"op":"pi"#.utf8))
        return bus
    }

    /// One whose log has an entry of every kind, in few groups.
    package static func withEveryEntry() throws -> MemoryBus {
        var setup = Setup()
        setup.stores = ["counter/a", "door/d", "value/v"]
        setup.definitions = ["type: lamp\ninitial: {}"]
        setup.log = MemoryLog()
        let bus = try MemoryBus(setup)
        let client = bus.connect(uid: 0)
        bus.disk = .isBusy
        for line in [
            increment, increment,
            #"{"op":"dispatch","id":1,"store":"counter/a","action":"increment","key":"k"}"#,
            #"{"op":"dispatch","id":2,"store":"counter/a","action":"increment","key":"l"}"#,
            #"{"op":"create","store":"counter/b","state":{"count":2},"key":"c"}"#,
            #"{"op":"create","store":"counter/e","ephemeral":true}"#,
            #"{"op":"will","actions":[{"store":"counter/a","action":"increment"}]}"#,
            #"{"op":"dispatch","actions":[{"type":"door","action":"rang"},{"type":"*","action":"open"}]}"#,
            #"{"op":"dispatch","store":"value/v","action":"set","payload":{"value":[1.5,null,{"a":"b"}]}}"#,
            #"{"op":"dispatch","store":"counter/a","action":"increment","traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}"#,
            #"{"op":"drop","store":"counter/b"}"#,
        ] { client.send(line) }
        bus.disk = .works
        try client.ask(#"{"op":"revert","store":"counter/a","revision":1}"#)
        bus.definitions = ["type: lamp\ninitial: { on: true }"]
        try client.ask(#"{"op":"reload"}"#)
        client.close()
        return bus
    }

    private static let increment = #"{"op":"dispatch","store":"counter/a","action":"increment"}"#
}
