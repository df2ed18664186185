import ArgumentParser
import BusJSON
import BusLog
import FluxBus
import Glibc

/// `fluxbus backup`: a copy of the log.
package struct BackupCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy the action log of a running bus to a file, and check the copy.",
        discussion: """
            Examples:
              fluxbus backup bus-copy.sqlite
              fluxbusd --restore bus-copy.sqlite          puts it in the place of a log

            The copy holds every commit up to the newest when it began, with the snapshots between them; the bus goes on \
            meanwhile. The daemon makes it beside its log, which takes as much room there for a moment, and it comes over the \
            connection. It is for its owner only, and has its name only when every commit in it has been read again and is \
            as it was written. Only root and the daemon's own user may, or those whom the access rules let manage the bus.

            Without --timeout the daemon has an hour to make the copy, and half a minute for each part of it.
            """)

    @Argument(help: "Where the copy is put; a file that is there is replaced.", completion: .file())
    package var file: String

    @OptionGroup package var options: GlobalOptions
    package var isOpenEnded: Bool { !options.timeout.isGiven }
    package var makesFiles: Bool { true }

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let connection = try session.connect()
        // Before the bus makes a copy that has no place here.
        var copy = try NewFile(file)
        guard let draft = copy.draft else {
            throw CommandFailure(.usage, "\(file) is no file: name one for the copy.")
        }
        let size = try Self.fetch(into: copy, from: connection, in: session)
        let revision: Int
        do throws(LogFailure) {
            revision = try LogCopy(verifying: draft).revision
        } catch {
            throw CommandFailure(
                .internal, "The copy is not what the bus holds; make another one. \(error.message)")
        }
        try copy.finish()
        try session.console.answer(
            "copied \(Quantity.bytes(Double(size))), up to revision \(revision), to \(ScreenText.safe(file))",
            ["file": .string(file), "revision": .int(revision), "bytes": .int(size)])
        return .success
    }

    /// Fetches a copy of the log, as the bus holds it when it begins; returns its size.
    static func fetch(
        into copy: borrowing NewFile, from connection: BusConnection, in session: CommandSession
    ) throws -> Int {
        let first = try part(at: 0, connection, until: LongWork.deadline(in: session))
        let size = first.size
        var place = try copy.write(first.bytes)
        try session.console.showingProgress("copying", total: size) { meter in
            while place < size {
                let next = try part(at: place, connection, until: session.replyDeadline)
                guard next.size == size else { throw misfit }
                place += try copy.write(next.bytes)
                try meter?.reached(place)
            }
        }
        guard place == size else { throw misfit }
        return size
    }

    private static func part(
        at offset: Int, _ connection: BusConnection, until deadline: Deadline
    ) throws -> (size: Int, bytes: [UInt8]) {
        let reply = try connection.request(BusRequest("backup", ["offset": .int(offset)]), until: deadline)
        guard let size = reply["bytes"]?.int,
            let bytes = reply["data"]?.string.flatMap({ Base64.decode($0) }),
            !bytes.isEmpty
        else { throw misfit }
        return (size, bytes)
    }

    private static let misfit = CommandFailure(
        .internal, "The parts of the copy do not fit together: use a fluxbus of the bus's version.")
}

/// `fluxbus compact`: gives back what the log's file does not need.
package struct CompactCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract: "Make the file of the action log as small as what it holds.",
        discussion: """
            Examples:
              fluxbus compact

            The file gives back by itself what it does not need, but for some room that the next commits use. This gives \
            back that, too, little by little, while the bus goes on. Only root and the daemon's own user may, or those whom the \
            access rules let manage the bus. A file that an earlier version made does not shrink before \
            `fluxbusd --compact` has written it anew, with the daemon stopped.

            Without --timeout the daemon has an hour for it.
            """)

    @OptionGroup package var options: GlobalOptions
    package var isOpenEnded: Bool { !options.timeout.isGiven }

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let connection = try session.connect()
        var reply = try connection.request(BusRequest("compact"), until: LongWork.deadline(in: session))
        reply["id"] = nil
        guard session.console.form == .text, let before = reply["before"]?.int,
            let bytes = reply["bytes"]?.int
        else {
            try session.console.line(.object(reply))
            return .success
        }
        try session.console.line("\(Quantity.bytes(Double(bytes))), \(Quantity.bytes(Double(before))) before")
        return .success
    }
}

/// Work on the log that takes as long as the log is large, and for which the bus answers nothing meanwhile.
enum LongWork {
    /// That of the command where `--timeout` says one, else in an hour.
    static func deadline(in session: CommandSession) -> Deadline {
        session.options.timeout.isGiven ? session.replyDeadline : Deadline(after: .seconds(3600))
    }
}
