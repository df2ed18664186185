import BusEngine
import BusMap
import BusSystem
import CMap

/// The files from which programs read states without the daemon, by the engine's numbers.
final class MapFiles {
    /// The token under which the poller knows it.
    static let token: UInt64 = 1 << 61

    fileprivate var writers: [Int: MapWriter] = [:]
    /// Which files have gone; there from the first map on.
    fileprivate var releases: MapReleases?
}

/// Maps: states that are durable are written into files, which connections are given.
extension EventLoop {
    func perform(_ output: MapOutput) {
        switch output {
        case .make(let number, let type, let contents, let room): make(number, type, contents, room)
        case .publish(let number, let changes): publish(changes, number)
        case .end(let number): end(number)
        case .give(let id): connections.update(id) { $0.sated = Connection.isWrittenOtherwise }
        }
    }

    private func make(_ number: Int, _ type: String, _ contents: MapChanges, _ most: Int) {
        let room = MapRoom(for: contents.lengths)
        guard room.bytes <= most else {
            return engine.mapFailed(
                number,
                because:
                    "A map of \(type) would take \(room.bytes) bytes, and there are \(most) left for maps; raise `memory` in the limits of the bus, or use `get`."
            )
        }
        do throws(SystemError) {
            let writer = try MapWriter(named: "fluxbus \(type)", room)
            try mapReleases().follow(writer, number: number)
            maps.writers[number] = writer
            publish(contents, number)
            if maps.writers[number] != nil { engine.mapMade(number, bytes: writer.size) }
        } catch {
            engine.mapFailed(
                number,
                because:
                    "The daemon can't make a file in memory, or can't follow it (\(error.description)); use `get`, and ask again later."
            )
        }
    }

    private func mapReleases() throws(SystemError) -> MapReleases {
        if let releases = maps.releases { return releases }
        let releases = try MapReleases()
        try poller.add(releases.descriptor, .input, token: MapFiles.token, &calls)
        maps.releases = releases
        return releases
    }

    /// The files of maps have gone: nobody keeps them any more.
    func hearOfMaps() { maps.releases?.forEachGone { engine.mapGone($0) } }

    private func publish(_ changes: MapChanges, _ number: Int) {
        guard let writer = maps.writers[number] else { return }
        do throws(MapRefusal) {
            try changes.forEach { (name, state, revision) throws(MapRefusal) in
                try writer.publish(state, of: name, revision: UInt64(revision))
            }
        } catch {
            // Its readers ask for another one, which has more room.
            end(number)
            engine.mapFailed(number, because: "The map is full; ask again.")
        }
    }

    private func end(_ number: Int) { maps.writers.removeValue(forKey: number)?.end(fluxbus_map_moved) }

    /// Writes to a connection that is given maps: a reply that brings one begins a message of its own.
    func writeWithMaps(_ id: ConnectionID) -> Int {
        guard var connection = connections[id] else { return 0 }
        var done = 0
        while done < LoopLimits.writtenPerTurn {
            guard let next = engine.nextMap(of: id) else {
                connection.sated = 0
                connections.update(id) { $0 = connection }
                return done + write(id)
            }
            let begins = next.before == 0
            var count = engine.output(of: id, into: buffers.pieces)
            let total = buffers.pieces.cut(&count, to: begins ? next.room : next.before)
            if total == 0 { break }
            // One that has ended meanwhile is not sent: its client asks again.
            let file = begins ? maps.writers[next.map]?.descriptor : nil
            let pieces = UnsafeBufferPointer(rebasing: buffers.pieces[..<count])
            let sent = sendOutput(pieces, of: total, with: file, to: id, &connection)
            if sent > 0 {
                engine.sent(id, sent)
                if begins { engine.mapSent(to: id) }
                done += sent
            }
            if sent < total {
                engine.noteFull(id)
                break
            }
        }
        settle(id, connection)
        return done
    }
}

extension UnsafeMutableBufferPointer<OutputPiece> {
    /// Leaves so many bytes of the first `count` pieces at most; returns how many there are.
    fileprivate func cut(_ count: inout Int, to most: Int) -> Int {
        var total = 0
        for place in 0..<count {
            guard total < most else {
                count = place
                break
            }
            self[place].count = Swift.min(self[place].count, most - total)
            total += self[place].count
        }
        return total
    }
}
