// Who is there? Each process enters a room under its name and prints everybody in it. However a process ends, also by
// `kill -9`, the bus lets it leave, ten seconds later at most (`BusOptions.linger`): that is its will.
//
//     fluxbusd --types config/types --listen unix:/tmp/bus.sock &
//     export FLUXBUS_ADDRESS=unix:/tmp/bus.sock
//     example-presence anna        # and in another terminal: example-presence bert

import FluxBus
import Foundation

guard let name = CommandLine.arguments.dropFirst().first else {
    FileHandle.standardError.write(Data("usage: example-presence NAME\n".utf8))
    exit(64)
}

let bus = try await Bus.connect()
let room = try await bus.store("room", of: Presence.self, creating: Presence())

let printer = room.signal.observe { room in
    let names = room.people.keys.sorted().joined(separator: " ")
    FileHandle.standardOutput.write(Data("\(names)\n".utf8))
}

// First the will, then the entrance: nobody can be left behind.
try await bus.setWill([room.request(.leave(name: name))])
try await room.dispatch(.enter(name: name))

// Who comes back soon has not been away. After a cut of more than ten seconds (`BusOptions.linger`) the bus has let us leave, so we
// enter again; before, that changes nothing.
let returning = Task {
    for await notice in bus.notices {
        if case .reconnected = notice { try await room.dispatch(.enter(name: name)) }
    }
}

while readLine() != nil {}

returning.cancel()
printer.dispose()
await bus.close()
