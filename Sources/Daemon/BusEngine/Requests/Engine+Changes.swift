import BusCluster
import BusCommands
import BusJSON
import BusMachine
import BusProtocol

/// A change of the bus that needs more than its request says.
enum Change {
    /// A connection names its session.
    case session(String, linger: Int)
    /// A store returns to a state that was found in the log.
    case revert(String, to: Int, where: Precondition, PastState)
    /// Types, access rules and limits were loaded.
    case definitions(LoadedDefinitions)
}

extension Engine {
    /// Makes a change, for a connection or (nil) for the daemon itself. Nil: the bus is shared, and the change is on its way
    /// through the log, which will answer the request with this `id`.
    func make(
        _ change: Change, by principal: Principal, for connection: Connection?, id: [UInt8]
    ) throws(RequestError) -> CommandReply? {
        if shared.isOn {
            try propose(change, for: connection, id: id)
            return nil
        }
        var reply = CommandReply(revision: machine.revision)
        switch change {
        case .session(let name, let linger):
            reply.contents = .greeting
            reply.isResumed = try sessions.attach(connection!, to: name, linger: linger)
        case .revert(let store, let revision, let wanted, let state):
            let host = local.here(for: connection)
            defer { host.finish() }
            return try commands.revert(
                store, to: revision, state, where: wanted, by: caller(of: connection!), host)
        case .definitions(let loaded):
            reply.migrations = try reload(loaded, by: principal)
            reply.restart = loaded.restart
            reply.revision = machine.revision
        }
        return reply
    }

    private func propose(
        _ change: Change, for connection: Connection?, id: [UInt8]
    ) throws(RequestError) {
        let command: ClusterEntry.Command
        var kind = PendingEntry.Kind.command
        switch change {
        case .session(let name, let linger):
            // Another member may have it.
            try connection!.hold.requireName(name)
            connection!.hold.name(name, linger: linger)
            connection!.hold.noteLeft()
            command = .sessionNamed(name, linger: linger)
        case .revert(let store, let revision, let wanted, let state):
            var line: JSONObject = ["op": "revert", "store": .string(store), "revision": .int(revision)]
            line["ifRevision"] = wanted.revision.map(JSON.int)
            line["if"] = wanted.condition
            command = .revert(Array(line.encoded.utf8), past: Array(state.json.encoded.utf8))
        case .definitions(let loaded):
            command = .configure(loaded.entry())
            kind = .reload(restart: loaded.restart)
        }
        if let connection {
            try shared.submit(command, as: kind, for: connection, id: id)
        } else {
            shared.submitOwn(command, "what is configured")
        }
        // What is this daemon's alone is in force at once.
        if case .definitions(let loaded) = change { adopt(loaded.limits) }
    }
}
