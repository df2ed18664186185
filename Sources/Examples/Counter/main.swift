// One counter in as many processes as you like. Each line of input is a number to add; every process prints the count
// whenever any of them changes it.
//
//     fluxbusd --types config/types --listen unix:/tmp/bus.sock &
//     export FLUXBUS_ADDRESS=unix:/tmp/bus.sock
//     example-counter        # in two terminals; type 1, Enter

import FluxBus
import Foundation

let bus = try await Bus.connect()
let counter = try await bus.store("example", of: Counter.self, creating: Counter(), isOptimistic: true)

let printer = counter.signal.observe { counter in
    let kind = Computed(counter).isEven ? "even" : "odd"
    FileHandle.standardOutput.write(Data("\(counter.count) \(kind)\n".utf8))
}

while let line = readLine() {
    if line == "reset" {
        counter.actions.reset()
    } else if let amount = Int(line) {
        counter.actions.increment(by: amount)
    }
}

printer.dispose()
await bus.close()
