import CSQLite
import Synchronization

/// A disk in memory, under SQLite, that counts, can be full, can fail, and can lose its power: then only what was synced
/// is sure to be there, and of everything else any sectors may be.
///
/// ```swift
/// let disk = SimulatedDisk()
/// disk.losePower(after: 100)
/// // … use SQLite with vfs: disk.name until it fails …
/// let next = disk.restarted(using: &generator)
/// ```
///
/// All connections must be closed before it goes. It may be used from several threads: everything in it is touched only
/// under its lock, so it is sendable though it looks mutable.
package final class SimulatedDisk: @unchecked Sendable {
    /// What changes the disk.
    package enum Operation: Sendable {
        case write, sync, truncate, delete, share
    }

    /// What has been done so far.
    package struct Counts: Sendable {
        package var writes = 0
        package var syncs = 0
        package var bytes = 0
    }

    /// Under this name SQLite knows it.
    package let name: String
    private static let made = Atomic<Int>(0)

    private let mutex = Mutex(())
    private var files: [String: SimulatedFile]
    /// Files that are gone, though their names may still be on disk.
    private var deleted: [String: SimulatedFile] = [:]
    private var counted = Counts()
    private var operations = 0
    private var end: Int?
    private var fault: (@Sendable (Operation, String) -> Int32?)?
    private var random: UInt64 = 1
    private let vfs: UnsafeMutablePointer<sqlite3_vfs>
    private let methods: UnsafeMutablePointer<sqlite3_io_methods>
    private let nameBytes: UnsafeMutablePointer<CChar>

    package convenience init() { self.init(files: [:]) }

    private init(files: [String: SimulatedFile]) {
        self.files = files
        name = "simulated-\(Self.made.add(1, ordering: .relaxed).newValue)"
        vfs = .allocate(capacity: 1)
        methods = .allocate(capacity: 1)
        let text = Array(name.utf8CString)
        nameBytes = .allocate(capacity: text.count)
        nameBytes.initialize(from: text, count: text.count)
        methods.initialize(to: SimulatedHandle.methods)
        vfs.initialize(
            to: SimulatedHandle.table(named: nameBytes, for: Unmanaged.passUnretained(self).toOpaque()))
        let code = sqlite3_vfs_register(vfs, 0)
        precondition(code == SQLITE_OK, "SQLite takes a disk with a name of its own.")
    }

    deinit {
        sqlite3_vfs_unregister(vfs)
        vfs.deallocate()
        methods.deallocate()
        nameBytes.deallocate()
    }

    // MARK: - For tests

    package var counts: Counts { locked { counted } }

    /// How many operations there were that changed something.
    package var operationCount: Int { locked { operations } }

    /// Everything fails after so many more operations; the one at which it happens may be done in part.
    package func losePower(after count: Int) { locked { end = operations + count } }

    package var hasPower: Bool { locked { end.map { operations < $0 } ?? true } }

    /// Asks before each operation, with the path, whether it shall fail, and with which result of SQLite; nil ends it.
    package func fail(_ fault: (@Sendable (Operation, String) -> Int32?)?) { locked { self.fault = fault } }

    /// The disk after a power loss now.
    package func restarted(using generator: inout some RandomNumberGenerator) -> SimulatedDisk {
        mutex.withLock { _ in
            let chances: [Double] = [0, 0.1, 0.5, 0.9, 1]
            let chance = chances.randomElement(using: &generator) ?? 0
            var left: [String: SimulatedFile] = [:]
            let ghosts = deleted.filter { files[$0.key] == nil && $0.value.isNamed }
            for (path, file) in files.merging(ghosts, uniquingKeysWith: { file, _ in file })
                .sorted(by: { $0.key < $1.key })
            {
                if ghosts[path] != nil, Bool.random(using: &generator) { continue }
                guard file.isNamed || Bool.random(using: &generator) else { continue }
                let next = SimulatedFile()
                next.content = file.remains(of: chance, using: &generator)
                next.durable = next.content
                next.isNamed = true
                left[path] = next
            }
            return SimulatedDisk(files: left)
        }
    }

    /// The disk as another process finds it when this one is killed now: all that was written is there.
    package func killed() -> SimulatedDisk {
        locked {
            SimulatedDisk(
                files: files.mapValues { file in
                    let next = SimulatedFile()
                    (next.content, next.durable) = (file.content, file.durable)
                    (next.changes, next.isNamed) = (file.changes, file.isNamed)
                    return next
                })
        }
    }

    /// The bytes of a file; empty if there is none.
    package func bytes(of path: String) -> [UInt8] { locked { files[path]?.content ?? [] } }

    // MARK: - For SQLite

    func locked<Result>(_ body: () -> Result) -> Result { mutex.withLock { _ in body() } }

    var methodTable: UnsafePointer<sqlite3_io_methods> { UnsafePointer(methods) }

    func file(_ path: String, creating: Bool) -> SimulatedFile? {
        if let file = files[path] { return file }
        guard creating else { return nil }
        let file = SimulatedFile()
        files[path] = file
        return file
    }

    func exists(_ path: String) -> Bool { files[path] != nil }

    func delete(_ path: String, durably: Bool) -> Int32 {
        if let code = refusal(of: .delete, path) { return code }
        guard let file = files.removeValue(forKey: path) else { return SQLITE_IOERR | 23 << 8 }
        deleted[path] = durably ? nil : file
        return SQLITE_OK
    }

    func change(_ file: SimulatedFile, _ path: String, _ change: SimulatedFile.Change) -> Int32 {
        let hadPower = end.map { operations < $0 } ?? true
        let operation: Operation = if case .write = change { .write } else { .truncate }
        if let code = refusal(of: operation, path) {
            // The one in which the power goes.
            if hadPower, let end, operations >= end { file.changes.append(change) }
            return code
        }
        if case .write(_, let bytes) = change {
            counted.writes += 1
            counted.bytes += bytes.count
        }
        file.apply(change)
        return SQLITE_OK
    }

    func sync(_ file: SimulatedFile, _ path: String) -> Int32 {
        if let code = refusal(of: .sync, path) {
            if end == nil { file.failSync() }
            return code
        }
        counted.syncs += 1
        // SQLite syncs the directory too when it first syncs a file that it made, and so what it deleted there is gone.
        if !file.isNamed { deleted = [:] }
        file.sync()
        return SQLITE_OK
    }

    /// The result with which an operation fails; nil if it may go on.
    func refusal(of operation: Operation, _ path: String) -> Int32? {
        if let end, operations >= end { return SQLITE_IOERR }
        operations += 1
        if let end, operations >= end { return SQLITE_IOERR }
        return fault?(operation, path)
    }

    /// Numbers that are the same in each run.
    func nextRandom() -> UInt8 {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return UInt8(truncatingIfNeeded: random >> 56)
    }
}
