import BusEngine

/// The maps of a `MemoryBus`, by number: states as programs would read them.
package final class MemoryMaps {
    package struct Entry: Equatable {
        package let state: String?
        package let revision: Int
    }

    /// Those that are kept, and those that were, as they were at their end.
    package private(set) var live: [Int: [String: Entry]] = [:]
    package private(set) var ended: [Int: [String: Entry]] = [:]
    /// Everything that was ever shown, in order.
    package private(set) var shown: [String] = []
    /// Connections that were given one, in order.
    package private(set) var given: [ConnectionID] = []
    /// A map of more stores is full, and none of more than so many bytes is made.
    package var mostStores = Int.max
    package var bytesOfEach = 1 << 16
    /// Whether programs keep the files of maps that have ended.
    package var areKept = false

    package init() {}

    package func perform(_ output: MapOutput, _ engine: Engine) {
        switch output {
        case .make(let number, _, let contents, let room):
            guard bytesOfEach <= room else {
                return engine.mapFailed(number, because: "There is no room for another map.")
            }
            live[number] = [:]
            publish(contents, number, engine)
            if live[number] != nil { engine.mapMade(number, bytes: bytesOfEach) }
        case .publish(let number, let changes): publish(changes, number, engine)
        case .end(let number):
            ended[number] = live.removeValue(forKey: number)
            if !areKept { engine.mapGone(number) }
        case .give(let id):
            given.append(id)
        }
    }

    private func publish(_ changes: MapChanges, _ number: Int, _ engine: Engine) {
        guard live[number] != nil else { return }
        changes.forEach { name, state, revision in
            let name = String(decoding: name, as: UTF8.self)
            let state = state.map { String(decoding: $0, as: UTF8.self) }
            live[number]?[name] = Entry(state: state, revision: revision)
            shown.append("\(revision) \(name) \(state ?? "-")")
        }
        if live[number]!.count > mostStores { engine.mapFailed(number, because: "The map is full.") }
    }
}
