import CSQLite
import CSyncGate
import Foundation
import Synchronization

/// A disk that hangs: whoever writes to a database in a directory, or syncs it, waits until the disk is well again.
///
/// SQLite writes by a system call that a test may put another one in the place of; that of this process asks here first, and so
/// does its `fdatasync`.
package final class StalledDisk: Sendable {
    /// What hangs.
    package enum Operation: Sendable { case write, sync }

    private struct Gate {
        var shut: Operation?
        /// Who waits since an earlier round goes on.
        var round = 0
        var waiting = 0
        /// How often each file was synced, by its path.
        var syncs: [String: Int] = [:]
    }

    private static let disks = Mutex<[String: StalledDisk]>([:])
    private static let count = Atomic(0)
    private static let isInstalled = Mutex(false)

    private let directory: String
    private let condition = NSCondition()
    private nonisolated(unsafe) var gate = Gate()

    /// Databases below this directory are on it.
    package init(_ directory: String) {
        self.directory = directory
        Self.install()
        Self.disks.withLock { $0[directory] = self }
        Self.count.add(1, ordering: .sequentiallyConsistent)
    }

    /// From now on writes wait, or syncs do.
    package func stall(_ operation: Operation = .write) { change { $0.shut = operation } }

    /// What waits goes on, and what comes afterwards waits.
    package func letGo() { change { $0.round += 1 } }

    /// Waits until somebody waits; false if nobody does within a minute.
    package func holdsSomebody() -> Bool {
        let end = Date(timeIntervalSinceNow: 60)
        condition.lock()
        defer { condition.unlock() }
        while gate.waiting == 0 { if !condition.wait(until: end) { return false } }
        return true
    }

    /// What waits goes on.
    package func recover() { change { $0.shut = nil } }

    /// How often a file was synced.
    package func syncs(of file: String) -> Int {
        condition.lock()
        defer { condition.unlock() }
        return gate.syncs[file, default: 0]
    }

    /// It is no disk any more.
    package func remove() {
        recover()
        Self.count.subtract(1, ordering: .sequentiallyConsistent)
        _ = Self.disks.withLock { $0.removeValue(forKey: directory) }
    }

    private func change(_ body: (inout Gate) -> Void) {
        condition.lock()
        body(&gate)
        condition.broadcast()
        condition.unlock()
    }

    private func pass(_ operation: Operation, _ file: String) {
        condition.lock()
        defer { condition.unlock() }
        if operation == .sync { gate.syncs[file, default: 0] += 1 }
        guard gate.shut == operation else { return }
        let round = gate.round
        gate.waiting += 1
        condition.broadcast()
        while gate.shut == operation, gate.round == round { condition.wait() }
        gate.waiting -= 1
    }

    // MARK: In SQLite's place

    private typealias Write = @convention(c) (Int32, UnsafeRawPointer?, Int, off_t) -> Int

    private static func install() {
        isInstalled.withLock { isInstalled in
            if isInstalled { return }
            let write: Write = { descriptor, bytes, count, offset in
                StalledDisk.passGate(descriptor, .write)
                return pwrite(descriptor, bytes, count, offset)
            }
            let code = sqlite3_vfs_find(nil).flatMap { vfs in
                vfs.pointee.xSetSystemCall?(vfs, name, unsafeBitCast(write, to: sqlite3_syscall_ptr.self))
            }
            precondition(code == SQLITE_OK, "SQLite has no system call \(name) that could be replaced.")
            sync_gate_set { StalledDisk.passGate($0, .sync) }
            isInstalled = true
        }
    }

    /// As SQLite names the call, which takes large offsets on every machine that this runs on.
    private static let name = "pwrite64"

    private static func passGate(_ descriptor: Int32, _ operation: Operation) {
        if count.load(ordering: .sequentiallyConsistent) == 0 { return }
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/self/fd/\(descriptor)", &path, path.count)
        guard length > 0 else { return }
        let file = String(decoding: path[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self)
        let disk = disks.withLock { disks in disks.first { file.hasPrefix($0.key + "/") }?.value }
        disk?.pass(operation, file)
    }
}
