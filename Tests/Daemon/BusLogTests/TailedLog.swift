import BusLog
import TestSupport

/// A log with a tail, and what a kill leaves of it.
enum TailedLog {
    static func append(_ revisions: ClosedRange<Int>, to file: LogFile) throws {
        for revision in revisions {
            try file.append(text(revision), first: revision, last: revision, time: revision)
        }
    }

    static func text(_ revision: Int) -> String {
        "{\"revision\":\(revision)}" + String(repeating: "x", count: revision * 37 % 300)
    }

    static func groups(_ revisions: ClosedRange<Int>) -> [Copy] {
        revisions.map { Copy($0...$0, $0, text($0)) }
    }

    static func open(_ directory: Scratch) throws -> LogFile {
        let file = try directory.open()
        try file.begin(epoch: "e")
        try file.useTail()
        return file
    }

    static let suffixes = ["", "-wal", "-tail", "-lock"]

    /// All files of a log whose owner still has it open, as the kernel has them: what is there once that is killed.
    static func killed(_ original: Scratch, _ suffixes: [String] = suffixes) -> Scratch {
        let directory = Scratch()
        for suffix in suffixes {
            Scratch.write(Scratch.read(original.path + suffix), to: directory.path + suffix)
        }
        return directory
    }

    static func change(_ directory: Scratch, _ change: (inout [UInt8]) -> Void) {
        var bytes = Scratch.read(directory.path + "-tail")
        change(&bytes)
        Scratch.write(bytes, to: directory.path + "-tail")
    }

    static func count(in directory: Scratch) throws -> Int {
        Int(try directory.query("SELECT count(*) FROM groups").dropLast()) ?? -1
    }
}
