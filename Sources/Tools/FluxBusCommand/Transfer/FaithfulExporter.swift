import BusJSON
import BusLog
import BusMachine
import BusSystem
import FluxBus

/// Writes all that the log of a bus holds: what it begins with, and every entry as it stands there. For that it fetches a copy
/// of the log, as `backup` does, and with the same right. Where types have horizons, it begins with the newest of these.
struct FaithfulExporter {
    let session: CommandSession
    let connection: BusConnection
    let output: Channel

    /// Returns the revision with which the export begins, and how many commits it holds.
    func export() throws -> (base: Int, commits: Int) {
        let directory: PrivateDirectory
        do throws(SystemError) {
            directory = try PrivateDirectory(in: PrivateDirectory.shortParent, prefix: "fluxbus-export")
        } catch {
            throw CommandFailure(
                .internal,
                "There is no place for a copy of the log (\(error.description)): check \(PrivateDirectory.shortParent), or set TMPDIR."
            )
        }
        let path = "\(directory.path)/log"
        var copy = try NewFile(path)
        _ = try BackupCommand.fetch(into: copy, from: connection, in: session)
        try copy.finish()
        do {
            let last = try LogCopy(verifying: path).revision
            let log = try LogReader(standing: path)
            // Of some types nothing is known before.
            let horizon = try log.horizons().values.max() ?? 0
            guard let epoch = try log.epoch(),
                let base = try log.snapshots().last(where: { $0.revision >= horizon })?.revision
            else {
                throw LogFailure(.damaged, path: path, "It holds no history.")
            }
            let header = Recording.Header(epoch: epoch, base: base, last: last)
            return (base, try write(log, header))
        } catch let failure as LogFailure {
            throw CommandFailure(
                .internal,
                "The copy of the log is not what the bus holds; export it again. \(failure.message)")
        }
    }

    /// Returns the number of commits.
    private func write(_ log: LogReader, _ header: Recording.Header) throws -> Int {
        var (lines, commits) = (1, 0)
        func write(_ line: UnsafeRawBufferPointer) throws {
            try output.write(line: Array(line))
            lines += 1
        }
        try output.write(header.line(form: Recording.wholeForm))
        try log.snapshot(header.base).withUnsafeBytes { try LogLines.forEach(in: $0, write) }
        // Notes of what came before the states belong to them.
        var reached = 0
        var failure: (any Error)?
        try log.forEachGroup(after: header.base) { group in
            if group.first > header.base { reached = max(reached, header.base) }
            do {
                try LogLines.forEach(in: group.entries) { line in
                    let revisions = LogLines.revisions(of: line)
                    reached = revisions?.upperBound ?? reached
                    guard reached > header.base || revisions == nil && reached == header.base else { return }
                    commits += revisions?.count ?? 0
                    try write(line)
                }
            } catch {
                failure = error
            }
            return failure == nil
        }
        if let failure { throw failure }
        try output.write("{\"end\":\(lines)}\n")
        try output.flush()
        return commits
    }
}
