import BusCluster
import BusEngine
import BusLog

/// The file of a member's copy, whoever writes it now: at the start nobody else does, later a thread of its own.
final class CopyFile {
    private let settings: LogSettings
    private var writer: LogWriter?
    private var file: LogFile?

    init(_ settings: LogSettings) throws(LogFailure) {
        self.settings = settings
        try LogFile.finishGivingWay(at: settings.path.value)
        file = try Self.open(settings.path.value, settings)
    }

    private static func open(_ path: String, _ settings: LogSettings) throws(LogFailure) -> LogFile {
        try LogFile(path: path, sync: settings.sync, bootID: BootID.read())
    }

    /// From now on the file belongs to its writer, which `make` makes.
    func hand(to make: (LogFile) -> LogWriter) -> LogWriter {
        guard let file else { preconditionFailure("A file has one writer.") }
        let writer = make(file)
        (self.writer, self.file) = (writer, nil)
        return writer
    }

    /// Runs `body` with the file, before it returns.
    func use<Value>(_ body: (LogFile) throws(LogFailure) -> Value) throws(LogFailure) -> Value {
        if let writer { return try writer.withFile(body) }
        guard let file else { preconditionFailure("The file is used by its owner.") }
        return try body(file)
    }

    /// Durable when it returns.
    func remember(_ fact: CopyFact, _ value: String?) throws(LogFailure) {
        try use { (file) throws(LogFailure) in try file.remember(fact, value) }
    }

    /// Another file takes the place of this one, before there is a writer: a copy that is complete, so that whatever ends the
    /// process meanwhile, one of the two is there and whole. What is known of this member goes along. Returns where what was
    /// here lies.
    func replace(by engine: Engine, _ replica: Replica) throws(LogFailure) -> String {
        let path = settings.path.value
        try makeNext(engine, replica)
        let aside = try giveWay()
        file = try Self.open(path, settings)
        return aside
    }

    /// A function of its own, so that the file is closed when it returns: it gets another name then.
    private func makeNext(_ engine: Engine, _ replica: Replica) throws(LogFailure) {
        guard let file, let owner = file.copyOf else {
            preconditionFailure("Only a copy gives way to another.")
        }
        let next = try Self.open(LogFile.next(of: settings.path.value), settings)
        try next.becomeCopy(ofBus: owner.bus, member: owner.member)
        for fact in [CopyFact.incarnation, .proof, .cluster] {
            try next.remember(fact, try file.recall(fact))
        }
        try Self.begin(next, engine, replica)
        try next.close()
    }

    private func giveWay() throws(LogFailure) -> String {
        guard let old = file else { preconditionFailure("The file is used by its owner.") }
        file = nil
        return try old.giveWay()
    }

    /// Begins a file that holds nothing yet, with a replica and what clients see of it; returns the length of that.
    @discardableResult
    static func begin(
        _ file: LogFile, _ engine: Engine, _ replica: Replica
    ) throws(LogFailure) -> Int {
        try file.begin(epoch: engine.epoch)
        let bytes = try Snapshots.write(engine.snapshot(), at: engine.revision) { (body) throws(LogFailure) in
            try body(file)
        }
        try ReplicaSnapshots.write(replica.snapshot(), at: replica.link.place) { (body) throws(LogFailure) in
            try body(file)
        }
        return bytes
    }
}
