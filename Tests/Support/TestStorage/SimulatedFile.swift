import CSQLite

/// A file of a simulated disk: what programs read of it, what of it would be there after a power loss, and who has
/// locked it.
final class SimulatedFile {
    /// What was done to it since it was last synced.
    enum Change {
        case write(offset: Int, [UInt8])
        case truncate(Int)
    }

    var content: [UInt8] = []
    /// What was synced, and nothing else.
    var durable: [UInt8] = []
    var changes: [Change] = []
    /// Whether its name is on disk.
    var isNamed = false

    var locks = FileLocks()
    var regions: [UnsafeMutableRawPointer] = []
    var slots = [SharedLock](repeating: SharedLock(), count: Int(SQLITE_SHM_NLOCK))

    deinit { for region in regions { region.deallocate() } }

    func apply(_ change: Change) {
        Self.apply(change, to: &content)
        changes.append(change)
    }

    func sync() {
        for change in changes { Self.apply(change, to: &durable) }
        changes = []
        isNamed = true
    }

    /// A sync that failed: the kernel counts the pages as clean then, and what was in them never reaches the disk.
    func failSync() { changes = [] }

    /// What a power loss leaves: what was synced, and any of the sectors that were not.
    func remains(of chance: Double, using generator: inout some RandomNumberGenerator) -> [UInt8] {
        var bytes = durable
        for change in changes {
            guard case .write(let offset, let written) = change else {
                if Double.random(in: 0..<1, using: &generator) < chance { Self.apply(change, to: &bytes) }
                continue
            }
            var place = 0
            while place < written.count {
                // Up to the end of the sector.
                let end = min(written.count, place + 512 - (offset + place) % 512)
                if Double.random(in: 0..<1, using: &generator) < chance {
                    Self.apply(.write(offset: offset + place, Array(written[place..<end])), to: &bytes)
                }
                place = end
            }
        }
        return bytes
    }

    private static func apply(_ change: Change, to bytes: inout [UInt8]) {
        switch change {
        case .truncate(let size):
            if size < bytes.count { bytes.removeLast(bytes.count - size) }
        case .write(let offset, let written):
            let end = offset + written.count
            if bytes.count < end { bytes += [UInt8](repeating: 0, count: end - bytes.count) }
            // Unoptimised, anything else goes byte by byte.
            bytes.withUnsafeMutableBytes { bytes in
                written.withUnsafeBytes { written in
                    guard let start = written.baseAddress else { return }
                    bytes.baseAddress?.advanced(by: offset).copyMemory(from: start, byteCount: written.count)
                }
            }
        }
    }
}

/// SQLite's locks on a file, by who has them.
struct FileLocks {
    var shared: Set<ObjectIdentifier> = []
    var reserved: ObjectIdentifier?
    var pending: ObjectIdentifier?
    var exclusive: ObjectIdentifier?

    mutating func lock(_ level: Int32, for owner: ObjectIdentifier) -> Bool {
        func isFree(_ holder: ObjectIdentifier?) -> Bool { holder == nil || holder == owner }
        guard isFree(exclusive) else { return false }
        switch level {
        case SQLITE_LOCK_SHARED:
            guard isFree(pending) else { return false }
            shared.insert(owner)
        case SQLITE_LOCK_RESERVED:
            guard isFree(reserved) else { return false }
            reserved = owner
        default:
            guard isFree(pending), isFree(reserved) else { return false }
            pending = owner
            guard shared.subtracting([owner]).isEmpty else { return false }
            exclusive = owner
        }
        return true
    }

    mutating func unlock(_ level: Int32, for owner: ObjectIdentifier) {
        if reserved == owner { reserved = nil }
        if pending == owner { pending = nil }
        if exclusive == owner { exclusive = nil }
        if level == SQLITE_LOCK_NONE { shared.remove(owner) }
    }
}

/// One of the locks in shared memory.
struct SharedLock {
    var readers: Set<ObjectIdentifier> = []
    var writer: ObjectIdentifier?
}
