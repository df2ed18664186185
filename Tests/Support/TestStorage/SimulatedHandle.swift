import CSQLite
import Glibc

/// An open file of a simulated disk, and the functions by which SQLite reaches it.
final class SimulatedHandle {
    let disk: SimulatedDisk
    let file: SimulatedFile
    let path: String

    init(_ disk: SimulatedDisk, _ file: SimulatedFile, _ path: String) {
        self.disk = disk
        self.file = file
        self.path = path
    }

    /// What SQLite keeps of an open file: its own part, and behind it who we are.
    private struct Place {
        var base: sqlite3_file
        var handle: UnsafeMutableRawPointer?
    }

    private static func of(_ pointer: UnsafeMutablePointer<sqlite3_file>?) -> SimulatedHandle? {
        let place = UnsafeMutableRawPointer(pointer)?.assumingMemoryBound(to: Place.self)
        return place?.pointee.handle.map { Unmanaged<SimulatedHandle>.fromOpaque($0).takeUnretainedValue() }
    }

    private static func disk(_ vfs: UnsafeMutablePointer<sqlite3_vfs>?) -> SimulatedDisk? {
        vfs?.pointee.pAppData.map { Unmanaged<SimulatedDisk>.fromOpaque($0).takeUnretainedValue() }
    }

    private static func on(
        _ pointer: UnsafeMutablePointer<sqlite3_file>?, _ body: (SimulatedHandle) -> Int32
    ) -> Int32 {
        guard let handle = of(pointer) else { return SQLITE_MISUSE }
        return handle.disk.locked { body(handle) }
    }

    private var owner: ObjectIdentifier { ObjectIdentifier(self) }

    /// The functions of a disk.
    static func table(named name: UnsafePointer<CChar>, for disk: UnsafeMutableRawPointer) -> sqlite3_vfs {
        var table = sqlite3_vfs()
        table.iVersion = 1
        table.szOsFile = Int32(MemoryLayout<Place>.size)
        table.mxPathname = 512
        table.zName = name
        table.pAppData = disk
        table.xOpen = { vfs, name, pointer, flags, outFlags in
            guard let disk = SimulatedHandle.disk(vfs), let pointer else { return SQLITE_MISUSE }
            let path = name.map { String(cString: $0) } ?? "temporary"
            return disk.locked {
                pointer.pointee.pMethods = nil
                guard let file = disk.file(path, creating: flags & SQLITE_OPEN_CREATE != 0) else {
                    return SQLITE_CANTOPEN
                }
                let place = UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: Place.self)
                place.pointee.handle = Unmanaged.passRetained(SimulatedHandle(disk, file, path)).toOpaque()
                pointer.pointee.pMethods = disk.methodTable
                outFlags?.pointee = flags
                return SQLITE_OK
            }
        }
        table.xDelete = { vfs, name, isDurable in
            guard let disk = SimulatedHandle.disk(vfs), let name else { return SQLITE_MISUSE }
            return disk.locked { disk.delete(String(cString: name), durably: isDurable != 0) }
        }
        table.xAccess = { vfs, name, _, outcome in
            guard let disk = SimulatedHandle.disk(vfs), let name else { return SQLITE_MISUSE }
            outcome?.pointee = disk.locked { disk.exists(String(cString: name)) } ? 1 : 0
            return SQLITE_OK
        }
        table.xFullPathname = { _, name, count, room in
            guard let name, let room, strlen(name) < Int(count) else { return SQLITE_CANTOPEN }
            strcpy(room, name)
            return SQLITE_OK
        }
        table.xRandomness = { vfs, count, room in
            guard let disk = SimulatedHandle.disk(vfs), let room else { return 0 }
            disk.locked { for place in 0..<Int(count) { room[place] = CChar(bitPattern: disk.nextRandom()) } }
            return count
        }
        // Whoever waits for a lock gives its turn away; there is nothing else to wait for.
        table.xSleep = { _, microseconds in
            sched_yield()
            return microseconds
        }
        table.xCurrentTime = { _, time in
            time?.pointee = 2_461_000
            return SQLITE_OK
        }
        table.xGetLastError = { _, _, _ in 0 }
        return table
    }

    /// The functions of a file.
    static var methods: sqlite3_io_methods {
        var table = sqlite3_io_methods()
        table.iVersion = 2
        table.xClose = { pointer in
            guard let handle = SimulatedHandle.of(pointer) else { return SQLITE_OK }
            handle.disk.locked { handle.file.locks.unlock(SQLITE_LOCK_NONE, for: handle.owner) }
            Unmanaged.passUnretained(handle).release()
            return SQLITE_OK
        }
        table.xRead = { pointer, room, count, offset in
            SimulatedHandle.on(pointer) { $0.read(room, Int(count), Int(offset)) }
        }
        table.xWrite = { pointer, bytes, count, offset in
            SimulatedHandle.on(pointer) {
                let written = Array(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
                return $0.disk.change($0.file, $0.path, .write(offset: Int(offset), written))
            }
        }
        table.xTruncate = { pointer, size in
            SimulatedHandle.on(pointer) { $0.disk.change($0.file, $0.path, .truncate(Int(size))) }
        }
        table.xSync = { pointer, _ in SimulatedHandle.on(pointer) { $0.disk.sync($0.file, $0.path) } }
        table.xFileSize = { pointer, size in
            SimulatedHandle.on(pointer) {
                size?.pointee = sqlite3_int64($0.file.content.count)
                return SQLITE_OK
            }
        }
        table.xLock = { pointer, level in
            SimulatedHandle.on(pointer) { $0.file.locks.lock(level, for: $0.owner) ? SQLITE_OK : SQLITE_BUSY }
        }
        table.xUnlock = { pointer, level in
            SimulatedHandle.on(pointer) {
                $0.file.locks.unlock(level, for: $0.owner)
                return SQLITE_OK
            }
        }
        table.xCheckReservedLock = { pointer, outcome in
            SimulatedHandle.on(pointer) {
                outcome?.pointee = $0.file.locks.reserved == nil ? 0 : 1
                return SQLITE_OK
            }
        }
        table.xFileControl = { _, _, _ in SQLITE_NOTFOUND }
        table.xSectorSize = { _ in 4096 }
        // As Linux disks are taken to be: a write that is cut off harms no bytes beside it.
        table.xDeviceCharacteristics = { _ in SQLITE_IOCAP_POWERSAFE_OVERWRITE }
        table.xShmMap = { pointer, region, size, extend, out in
            SimulatedHandle.on(pointer) { $0.map(Int(region), Int(size), extend != 0, out) }
        }
        table.xShmLock = { pointer, offset, count, flags in
            SimulatedHandle.on(pointer) { $0.lockShared(Int(offset), Int(count), flags) }
        }
        table.xShmBarrier = { pointer in _ = SimulatedHandle.on(pointer) { _ in SQLITE_OK } }
        table.xShmUnmap = { pointer, _ in SimulatedHandle.on(pointer) { _ in SQLITE_OK } }
        return table
    }

    private func read(_ room: UnsafeMutableRawPointer?, _ count: Int, _ offset: Int) -> Int32 {
        guard let room else { return SQLITE_MISUSE }
        let present = max(0, min(count, file.content.count - offset))
        file.content.withUnsafeBytes { bytes in
            if present > 0, let start = bytes.baseAddress { memcpy(room, start + offset, present) }
        }
        memset(room + present, 0, count - present)
        return present == count ? SQLITE_OK : SQLITE_IOERR | 2 << 8
    }

    private func map(
        _ region: Int, _ size: Int, _ extend: Bool,
        _ out: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    ) -> Int32 {
        if file.regions.count <= region {
            out?.pointee = nil
            if !extend { return SQLITE_OK }
            if let code = disk.refusal(of: .share, path) { return code }
            while file.regions.count <= region {
                let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 8)
                memset(memory, 0, size)
                file.regions.append(memory)
            }
        }
        out?.pointee = file.regions[region]
        return SQLITE_OK
    }

    private func lockShared(_ offset: Int, _ count: Int, _ flags: Int32) -> Int32 {
        let slots = offset..<offset + count
        if flags & SQLITE_SHM_UNLOCK != 0 {
            for slot in slots {
                file.slots[slot].readers.remove(owner)
                if file.slots[slot].writer == owner { file.slots[slot].writer = nil }
            }
            return SQLITE_OK
        }
        let isExclusive = flags & SQLITE_SHM_EXCLUSIVE != 0
        let isFree = slots.allSatisfy { slot in
            let lock = file.slots[slot]
            if let writer = lock.writer, writer != owner { return false }
            return !isExclusive || lock.readers.subtracting([owner]).isEmpty
        }
        guard isFree else { return SQLITE_BUSY }
        for slot in slots {
            if isExclusive { file.slots[slot].writer = owner } else { file.slots[slot].readers.insert(owner) }
        }
        return SQLITE_OK
    }
}
