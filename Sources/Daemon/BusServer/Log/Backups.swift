import BusEngine
import BusJSON
import BusLog
import BusMachine
import BusSystem
import Glibc
import Synchronization

/// Copies of the log for clients, made beside the bus. A client asks for one part after the other, so one that is slow holds up
/// nobody, and no more than a part waits for it.
///
/// There is one copy at a time, because it takes as much room on the disk again. It has no name once it is complete, so whatever
/// ends the daemon leaves nothing behind.
final class Backups: Sendable {
    private let writer: LogWriter
    private let snapshots: Snapshots
    private let mailbox: LogMailbox
    private let ending: Ending
    /// As nice as the threads that read the past.
    private let worker = Worker(named: "fluxbus-backup", niceness: 10)
    private let state = Mutex(State.none)

    private enum State {
        case none
        /// For the query with this number.
        case making(ConnectionID, number: Int)
        /// `asked` is when the last part was asked for, in milliseconds.
        case made(ConnectionID, Copy, asked: Int)

        /// The client that has it.
        func isOf(_ connection: ConnectionID) -> Bool {
            switch self {
            case .none: false
            case .making(let owner, _), .made(let owner, _, _): owner == connection
            }
        }
    }

    /// A complete copy.
    private final class Copy: Sendable {
        let descriptor: Int32
        let bytes: Int
        let revision: Int

        init(_ descriptor: Int32, bytes: Int, revision: Int) {
            (self.descriptor, self.bytes, self.revision) = (descriptor, bytes, revision)
        }

        deinit { close(descriptor) }
    }

    /// The most bytes in one reply.
    private static let partSize = 192 << 10
    /// What a reply has beside them.
    private static let around = 128
    /// Bytes of the disk that a copy leaves free.
    private static let leftFree = 64 << 20
    /// After so many milliseconds without a question, another client may have a copy.
    private static let patience = 60_000

    init(_ writer: LogWriter, _ snapshots: Snapshots, _ mailbox: LogMailbox, _ ending: Ending) {
        (self.writer, self.snapshots, self.mailbox, self.ending) = (writer, snapshots, mailbox, ending)
    }

    func ask(_ query: LogQuery, offset: Int) {
        if offset > 0 {
            return worker.async { [self] in answer(query, part(of: query, from: offset)) }
        }
        let now = MonotonicClock.milliseconds
        let isFree = state.withLock { state in
            switch state {
            case .made(let owner, _, let asked)
            where owner != query.connection && now - asked < Self.patience:
                return false
            case .making: return false
            case .none, .made:
                state = .making(query.connection, number: query.number)
                return true
            }
        }
        guard isFree else {
            return answer(
                query,
                Self.refused("limit", "Another client is being given a copy of the log; ask again later."))
        }
        // Between snapshots and trimming, which would take away what is being copied.
        snapshots.aside { [self] in make(for: query) }
    }

    /// The client has gone, and with it its copy.
    func forget(_ connection: ConnectionID) {
        state.withLock { if $0.isOf(connection) { $0 = .none } }
    }

    /// Waits until no part is being read.
    func drain() { worker.drain() }

    // MARK: - Making one

    private func make(for query: LogQuery) {
        let copy: Copy
        do throws(LogFailure) {
            copy = try makeCopy(for: query)
        } catch {
            state.withLock { if Self.isMaking($0, query) { $0 = .none } }
            return answer(query, Self.refused("unavailable", error.message))
        }
        let isWanted = state.withLock { state in
            guard Self.isMaking(state, query) else { return false }
            state = .made(query.connection, copy, asked: MonotonicClock.milliseconds)
            return true
        }
        if isWanted { worker.async { [self] in answer(query, part(of: query, from: 0)) } }
    }

    private static func isMaking(_ state: State, _ query: LogQuery) -> Bool {
        if case .making(_, query.number) = state { true } else { false }
    }

    private func makeCopy(for query: LogQuery) throws(LogFailure) -> Copy {
        let path = writer.file.path
        let reader = try writer.reader()
        let needed = try reader.bytesInUse() + Self.leftFree
        var space = statvfs()
        if statvfs(path, &space) == 0, Int(space.f_bavail) * Int(space.f_frsize) < needed {
            throw LogFailure(
                .full, path: path,
                "A copy of the log needs \(needed) bytes on its disk for a moment, which are not free; make room."
            )
        }
        let scratch = LogCopy.scratch(of: path)
        let revision = try reader.copy(to: scratch) {
            !ending.hasBegun && state.withLock { Self.isMaking($0, query) }
        }
        defer { unlink(scratch) }
        let descriptor = open(scratch, O_RDONLY | O_CLOEXEC)
        let bytes = lseek(descriptor, 0, SEEK_END)
        guard descriptor >= 0, bytes > 0 else {
            if descriptor >= 0 { close(descriptor) }
            throw LogFailure(
                .io, path: path, "The copy of the log can't be read; look at its disk with dmesg.")
        }
        return Copy(descriptor, bytes: Int(bytes), revision: revision)
    }

    // MARK: - Parts

    private func part(of query: LogQuery, from offset: Int) -> LogAnswer {
        let found = state.withLock { state -> Copy? in
            guard case .made(query.connection, let copy, _) = state, offset < copy.bytes else { return nil }
            state = .made(query.connection, copy, asked: MonotonicClock.milliseconds)
            return copy
        }
        guard let copy = found else {
            return Self.refused("conflict", "There is no such part; begin again with offset 0.")
        }
        let size = min(copy.bytes - offset, Self.partSize, max(1, (query.room - Self.around) / 4 * 3))
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { room, filled in
            filled = max(0, pread(copy.descriptor, room.baseAddress, size, off_t(offset)))
        }
        guard bytes.count == size else {
            return Self.refused(
                "unavailable", "The copy of the log can't be read; look at its disk with dmesg.")
        }
        // What is complete takes no more room.
        if offset + size == copy.bytes { forget(query.connection) }
        let writer = ByteWriter()
        writer.append(",\"revision\":", decimal: copy.revision)
        writer.append(",\"bytes\":", decimal: copy.bytes)
        writer.append(",\"data\":\"")
        bytes.withUnsafeBytes { Base64.append($0, to: writer) }
        writer.append(UInt8(ascii: "\""))
        return .members(Array(writer.bytes))
    }

    private func answer(_ query: LogQuery, _ answer: LogAnswer) { mailbox.put(.answered(query, answer)) }

    private static func refused(_ code: String, _ message: String) -> LogAnswer {
        .refused(code: code, message: message, details: [:])
    }
}
