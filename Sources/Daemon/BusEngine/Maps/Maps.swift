import BusJSON
import BusMachine

/// The maps of types, from which programs read states without the daemon.
///
/// The owner of the engine keeps the files; what goes into them is found here. A commit does nothing for that: a type lists its
/// stores in the order of their changes, so what is new is found when it is durable, once for all commits of a turn or a batch.
/// Nothing is told of a commit that may still be rolled back.
final class Maps {
    private let machine: StateMachine
    private let clock: TurnClock
    private let connections: Connections
    private let outputs: Outputs

    /// Mostly there are none.
    private var all: [TypeMap] = []
    private var made = 0
    /// What is new in the batch that is being written.
    private var sealed: [MapOutput] = []
    /// The replies that bring maps and were not sent yet, by connection, in order.
    private var given: [ConnectionID: [(place: Int, map: Int)]] = [:]
    /// How many maps were made for each user, by number, since when.
    private var spent: [Int: (count: Int, since: Int)] = [:]
    /// The size of the files of these, in bytes.
    private var bytesOfLive = 0
    /// Maps that have ended and whose files may still be kept by programs, which only the owner knows: their sizes, for whom they were made,
    /// and the sum.
    private var left: [Int: (bytes: Int, user: Int)] = [:]
    private var bytesOfLeft = 0

    init(_ machine: StateMachine, _ clock: TurnClock, _ connections: Connections, _ outputs: Outputs) {
        self.machine = machine
        self.clock = clock
        self.connections = connections
        self.outputs = outputs
    }

    @inline(__always)
    var isEmpty: Bool { all.isEmpty }

    func map(of type: TypeEntry) -> TypeMap? { all.first { $0.type === type } }

    /// What all files take, in bytes.
    var bytes: Int { bytesOfLive + bytesOfLeft }
    /// What all maps together may take, and as much again those that have ended and that programs still keep.
    var mostBytes: Int { connections.limits.memory / DaemonLimits.partOfMaps }
    /// Whether programs keep too much of maps that have ended: of this user's half as much as of all.
    func areTooManyLeft(of user: User) -> Bool {
        if bytesOfLeft < mostBytes / 2 { return false }
        let own = left.values.reduce(0) { $0 + ($1.user == user.number ? $1.bytes : 0) }
        return bytesOfLeft >= mostBytes || own >= mostBytes / 2
    }

    // MARK: Beginning and ending

    /// Whether a user may have another map made now.
    func mayMake(for user: User) -> Bool {
        let (count, since) = spent[user.number] ?? (0, clock.now)
        return count < DaemonLimits.mapsMade || clock.now - since >= DaemonLimits.mapInterval
    }

    /// A map of a type is made as soon as all that was committed is durable.
    func begin(_ type: TypeEntry, for user: User) -> TypeMap {
        made += 1
        var (count, since) = spent[user.number] ?? (0, clock.now)
        if clock.now - since >= DaemonLimits.mapInterval { (count, since) = (0, clock.now) }
        spent[user.number] = (count + 1, since)
        let map = TypeMap(number: made, type, for: user.number)
        all.append(map)
        return map
    }

    /// The file of a map was made, and has so many bytes. Nil: nobody wants it any more.
    func finish(_ number: Int, bytes: Int) -> TypeMap? {
        guard let map = all.first(where: { $0.number == number }) else { return nil }
        map.bytes = bytes
        bytesOfLive += bytes
        return map
    }

    /// A map is kept no more; its readers ask for another one. Returns it, with those who wait for it; nil: that is known already.
    @discardableResult
    func end(_ number: Int) -> TypeMap? {
        guard let place = all.firstIndex(where: { $0.number == number }) else { return nil }
        let map = all.remove(at: place)
        if map.isMade {
            bytesOfLive -= map.bytes
            bytesOfLeft += map.bytes
            left[number] = (map.bytes, map.user)
        }
        sealed.removeAll { $0.number == number }
        outputs.add(.map(.end(number)))
        return map
    }

    /// Nobody has the file of a map any more.
    func noteGone(_ number: Int) { bytesOfLeft -= left.removeValue(forKey: number)?.bytes ?? 0 }

    /// Whoever may still read a type whole asks for another map of it.
    func endAll() { for map in all where map.isMade { end(map.number) } }

    /// Ends those that a connection was given, except those of types of which it may still have them.
    func endAll(of connection: Connection, except mayHave: (TypeEntry) -> Bool) {
        for map in all where map.holders.contains(connection.id) && !mayHave(map.type) { end(map.number) }
    }

    /// The bus goes back to what is on disk.
    func rewind() {
        sealed = []
        for map in all { end(map.number) }
    }

    /// The size of all files, counted from nothing.
    var recount: Int { all.reduce(left.values.reduce(0) { $0 + $1.bytes }) { $0 + $1.bytes } }

    // MARK: Readers

    /// A reply that brings a map is about to be written for a connection, which keeps it from then on.
    func give(_ map: TypeMap, to connection: Connection) {
        connections.takeShared(connection)
        map.holders.insert(connection.id)
        given[connection.id, default: []].append((connection.output.outbox.total, map.number))
        outputs.add(.map(.give(connection.id)))
    }

    /// What was written for a connection and not released was taken back.
    func takeBack(from connection: Connection) {
        given[connection.id]?.removeAll { $0.place >= connection.output.outbox.total }
    }

    /// The next reply with a map for a connection: after how many bytes it begins, and how many there are before another one.
    func next(for connection: Connection) -> (map: Int, before: Int, room: Int)? {
        guard let list = given[connection.id], let first = list.first else { return nil }
        let outbox = connection.output.outbox
        let end = list.count > 1 ? list[1].place - first.place : Int.max
        return (first.map, first.place - (outbox.total - outbox.count), end)
    }

    /// The beginning of that reply was sent.
    func noteSent(to id: ConnectionID) {
        given[id]?.removeFirst()
        if given[id]?.isEmpty == true { given[id] = nil }
    }

    /// A connection has ended: maps go with the last one that asked for them.
    func leave(_ connection: Connection) {
        // Also what is left of maps that have ended: the next connection gets the same number.
        given[connection.id] = nil
        for map in all where map.holders.remove(connection.id) != nil && map.holders.isEmpty {
            if map.waiting.isEmpty { end(map.number) }
        }
    }

    // MARK: What is new

    /// The open batch is written next: what is new in it becomes durable with it.
    func seal() { for map in all { if let news = news(of: map) { sealed.append(news) } } }

    /// It is on disk.
    func confirm() {
        for news in sealed { outputs.add(.map(news)) }
        sealed = []
    }

    /// Whether a map lacks something.
    var hasNews: Bool {
        all.contains { map in
            if !map.isAsked { return true }
            return map.isMade && (map.sequence != machine.sequence || map.drops != machine.dropLog.count)
        }
    }

    /// Everything is durable: what is new is passed on.
    func passOn() { for map in all { if let news = news(of: map) { outputs.add(.map(news)) } } }

    /// What has changed in a type since the last time; nil: nothing. A map that can't go on ends.
    private func news(of map: TypeMap) -> MapOutput? {
        if map.isAsked {
            // One that is being made follows once it is.
            guard map.isMade else { return nil }
            if machine.sequence == map.sequence, machine.dropLog.count == map.drops { return nil }
            guard map.epoch == machine.epoch, map.definitions == map.type.definitions,
                map.drops >= machine.dropLog.forgottenCount
            else {
                end(map.number)
                return nil
            }
        }
        var store = map.type.firstChanged(after: map.sequence) { clock.work += $0 * Work.look / 4 }
        if map.isAsked, store < 0, map.drops == machine.dropLog.count {
            // What has changed is of other types.
            map.sequence = machine.sequence
            return nil
        }
        let changes = MapChanges()
        if map.isAsked { addDrops(of: map, to: changes) }
        while store >= 0 {
            let record = machine.stores.pointer(store)
            changes.add(record.pointee.name, record.pointee.state, at: record.pointee.revision)
            store = record.pointee.newer
        }
        clock.work += changes.count * Work.look + changes.bytes.count * Work.encodedByte
        (map.sequence, map.drops) = (machine.sequence, machine.dropLog.count)
        (map.definitions, map.epoch) = (map.type.definitions, machine.epoch)
        if !map.isAsked {
            map.isAsked = true
            return .make(map.number, type: map.type.name, changes, room: max(0, mostBytes - bytesOfLive))
        }
        return changes.count == 0 ? nil : .publish(map.number, changes)
    }

    private func addDrops(of map: TypeMap, to changes: MapChanges) {
        for number in map.drops..<machine.dropLog.count {
            clock.work += Work.rememberedDrop
            let drop = machine.dropLog[number]
            // A store that was made again since is among the changes that follow.
            if drop.type == map.type.index { changes.add(drop.name, nil, at: drop.revision) }
        }
    }
}

/// A type whose states are in a map.
final class TypeMap {
    let number: Int
    let type: TypeEntry
    /// Its owner was asked to make the file, and how large that is.
    var isAsked = false
    var bytes = 0
    /// Up to where it is: in the order of changes, among all drops, in definitions of the type, and in which history.
    var sequence = -1
    var drops = 0
    var definitions = 0
    var epoch = ""
    /// Who waits for it: connections, and the numbers of their queries.
    var waiting: [(query: Int, connection: ConnectionID)] = []
    /// The connections that were given it.
    var holders: Set<ConnectionID> = []

    /// The number of the user for whom it was made.
    let user: Int

    init(number: Int, _ type: TypeEntry, for user: Int) {
        (self.number, self.type, self.user) = (number, type, user)
    }

    /// Whether there is a file.
    var isMade: Bool { bytes > 0 }
}
