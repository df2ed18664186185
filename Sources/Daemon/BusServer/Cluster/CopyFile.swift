import BusLog

/// The file of a member's copy, whoever writes it now: at the start nobody else does, later a thread of its own.
final class CopyFile {
    private var writer: LogWriter?
    private var file: LogFile?

    init(_ file: LogFile) { self.file = file }

    /// From now on the file belongs to its writer.
    func hand(to writer: LogWriter) { (self.writer, file) = (writer, nil) }

    /// Another file takes its place, before there is a writer.
    func replace(by other: LogFile?) { file = other }

    /// Durable when it returns.
    func remember(_ fact: CopyFact, _ value: String?) throws(LogFailure) {
        if let writer {
            try writer.withFile { (file) throws(LogFailure) in try file.remember(fact, value) }
        } else {
            try file?.remember(fact, value)
        }
    }
}
