import ArgumentParser
import BusJSON
import BusSystem
import Glibc

/// Reads files and standard input whole, up to a limit.
enum FileReader {
    /// A descriptor for reading; nil and `errno` when there is none.
    static func open(_ path: String) -> Int32? {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        return descriptor < 0 ? nil : descriptor
    }

    static func readAll(_ descriptor: Int32, limit: Int, name: String) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let piece = try readSome(descriptor, name: name) {
            bytes += piece
            guard bytes.count <= limit else {
                throw CommandFailure(.refused, "There are more than \(limit) bytes in \(name): shorten it.")
            }
        }
        return bytes
    }

    /// Available bytes, at least one, awaited; nil at the end.
    static func readSome(_ descriptor: Int32, name: String) throws -> [UInt8]? {
        while true {
            var count = 0
            let piece = [UInt8](unsafeUninitializedCapacity: 65536) { buffer, filled in
                count = read(descriptor, buffer.baseAddress, buffer.count)
                filled = max(count, 0)
            }
            if count > 0 { return piece }
            if count == 0 { return nil }
            if errno == EINTR || errno == EAGAIN { continue }
            throw CommandFailure(.refused, "\(name) can't be read: \(systemReason()).")
        }
    }
}

/// `--raw`: bare values, for scripts.
package struct RawArgument: ParsableArguments {
    @Flag(
        name: .shortAndLong, help: "Print bare values: strings without quotes, anything else as compact JSON."
    )
    package var raw = false

    package init() {}

    func validate(with options: GlobalOptions) throws {
        if raw && (options.json || options.human) {
            throw ValidationError("--raw is a form of its own: leave --json and --human out.")
        }
    }

    /// Prints all remaining states, in the form asked for.
    func print(
        _ reader: StateReader, of states: StateArguments, to console: Console
    ) throws -> CommandStatus {
        guard raw else {
            try reader.printAll(to: console)
            return .success
        }
        // One part stands for itself; several stay an object.
        let pointer = states.select.count == 1 ? try? JSONPointer(states.select[0]) : nil
        var absent: String?
        while let (address, state) = try reader.next() {
            if let value = pointer.map({ $0.resolve(in: state) }) ?? state {
                try console.raw(value)
            } else if absent == nil {
                absent = address
            }
        }
        try reader.noteGone(on: console)
        guard let absent else { return .success }
        throw CommandFailure(.no, "There is nothing at \(states.select[0]) of \(absent).")
    }
}

extension Console {
    /// Prints a value alone on its line. Only a terminal is spared what a string may do to it.
    fileprivate func raw(_ value: JSON) throws {
        guard let text = value.string else { return try line(value) }
        guard output.isTerminal else { return try line(text) }
        for part in text.split(separator: "\n", omittingEmptySubsequences: false) {
            try line(ScreenText.safe(String(part)))
        }
    }
}
