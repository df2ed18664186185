import BusJSON
import BusSystem
import FluxBus
import Glibc

/// The destination and form of a command's results, notes and errors.
package struct Console {
    package enum Form: Sendable {
        /// Tables and sentences for people.
        case text
        /// One JSON object per line, for programs.
        case lines
    }

    package let form: Form
    package let style: Style
    package let output: Channel
    private let messages: Channel
    private let messageStyle: Style
    private let isQuiet: Bool
    private let shown = Shown()

    /// The meter on the screen, which makes way for everything else.
    private final class Shown { var meter: ProgressMeter? }

    package init(context: CommandContext, options: GlobalOptions) {
        output = context.output
        messages = context.messages
        form = options.human || (output.isTerminal && !options.json) ? .text : .lines
        style = Style(mode: options.color, isTerminal: output.isTerminal, environment: context.environment)
        messageStyle = Style(
            mode: options.color, isTerminal: messages.isTerminal, environment: context.environment)
        isQuiet = options.quiet
    }

    package var width: Int? { output.width }

    /// Prints one line for people.
    package func line(_ text: String) throws {
        shown.meter?.erase()
        try output.write(text + "\n")
    }

    /// Prints one line for programs.
    package func line(_ value: JSON) throws {
        shown.meter?.erase()
        try output.write(line: value)
    }

    /// Prints one line for programs, with the members in the order in which people like to read them.
    package func row(_ members: KeyValuePairs<String, JSON>) throws {
        var text = ""
        for (name, value) in members {
            text += (text.isEmpty ? "{" : ",") + JSON.string(name).encoded + ":" + value.encoded
        }
        shown.meter?.erase()
        try output.write(text + "}\n")
    }

    /// Prints a sentence for people, or the same for programs.
    package func answer(_ sentence: @autoclosure () -> String, _ value: @autoclosure () -> JSON) throws {
        switch form {
        case .text: try line(sentence())
        case .lines: try line(value())
        }
    }

    package func flush() throws { try output.flush() }

    /// A remark beside the result, on standard error; nothing with `--quiet`. Results written before it stay before.
    package func note(_ sentence: String) throws {
        guard !isQuiet else { return }
        shown.meter?.erase()
        try output.flush()
        // Nothing is done differently because nobody can read it.
        try? messages.write(messageStyle.paint(ScreenText.safe(sentence), .faint) + "\n")
        try? messages.flush()
    }

    /// Does long work, of which it is shown how far it is: on a terminal for messages, unless `--quiet` says otherwise.
    package func showingProgress<Value>(
        _ label: String, total: Int, _ work: (ProgressMeter?) throws -> Value
    ) throws -> Value {
        guard messages.isTerminal, !isQuiet else { return try work(nil) }
        let meter = ProgressMeter(label, total: total, on: messages, beside: output)
        shown.meter = meter
        defer {
            meter.erase()
            shown.meter = nil
        }
        return try work(meter)
    }

    /// Reports why the command fails, on standard error. A failure of this can't be reported.
    package func report(_ failure: CommandFailure) {
        shown.meter?.erase()
        guard !failure.message.isEmpty else { return }
        let name = messageStyle.paint("fluxbus:", .failure)
        // One that tells of several mistakes has a line for each.
        let lines = failure.message.split(separator: "\n", omittingEmptySubsequences: false)
        let text = lines.map { ScreenText.safe(String($0)) }.joined(separator: "\n")
        try? messages.write("\(name) \(text)\n")
        try? messages.flush()
    }
}

/// Colours of a terminal, or none. Restrained: addresses are emphasised, old values faint, new ones prominent.
package struct Style: Sendable {
    package let isColoured: Bool

    package static let plain = Style(isColoured: false)

    package init(isColoured: Bool) { self.isColoured = isColoured }

    /// Decides by the option, `$NO_COLOR`, `$TERM` and whether output is a terminal.
    package init(mode: ColorMode, isTerminal: Bool, environment: [String: String]) {
        switch mode {
        case .always: isColoured = true
        case .never: isColoured = false
        case .auto:
            let refused = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
            isColoured = isTerminal && !refused && environment["TERM"] != "dumb"
        }
    }

    package enum Role: String, Sendable {
        case address = "36"
        case heading = "1"
        case faint = "2"
        case old = "31"
        case new = "32"
        case note = "33"
        case failure = "1;31"
        case plain = ""
    }

    package func paint(_ text: String, _ role: Role) -> String {
        guard isColoured, role != .plain, !text.isEmpty else { return text }
        return "\u{1b}[\(role.rawValue)m\(text)\u{1b}[0m"
    }
}

/// A destination of output: a descriptor, or memory for tests. Bytes are collected and written in large pieces.
package final class Channel {
    /// The descriptor written to; nil in memory.
    package let descriptor: Int32?
    package let isTerminal: Bool
    /// Columns of the terminal; nil when there is none or its width is unknown.
    private let fixedWidth: Int?
    private let gathered = ByteWriter(capacity: 4096)

    /// How much is collected before it is written without a flush.
    private static let largePiece = 65536

    package init(descriptor: Int32) {
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
        fixedWidth = nil
    }

    /// A channel into memory, which may pretend to be a terminal.
    package init(memoryAsTerminal isTerminal: Bool = false, width: Int? = nil) {
        descriptor = nil
        self.isTerminal = isTerminal
        fixedWidth = width
    }

    /// What has been written into memory so far.
    package var text: String { gathered.text }

    /// How many columns there are; nil when lines may have any length.
    package var width: Int? {
        guard let descriptor else { return fixedWidth }
        guard isTerminal else { return nil }
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    package func write(_ text: String) throws {
        gathered.append(raw: text)
        try writeIfLarge()
    }

    package func write(line: [UInt8]) throws {
        line.withUnsafeBytes { gathered.append($0) }
        gathered.append(UInt8(ascii: "\n"))
        try writeIfLarge()
    }

    package func write(line value: JSON) throws {
        gathered.append(json: value)
        gathered.append(UInt8(ascii: "\n"))
        try writeIfLarge()
    }

    private func writeIfLarge() throws {
        if gathered.count >= Self.largePiece { try flush() }
    }

    /// Writes everything collected. A reader that has closed the pipe ends the command quietly.
    package func flush() throws {
        guard let descriptor else { return }
        defer { gathered.clear() }
        var rest = gathered.bytes[...]
        while !rest.isEmpty {
            let piece = UnsafeRawBufferPointer(rebasing: rest)
            let count = Glibc.write(descriptor, piece.baseAddress, piece.count)
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // The descriptor is non-blocking: wait for it.
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&entry, 1, -1)
            } else if errno == EPIPE {
                throw CommandFailure(.success, "")
            } else if errno != EINTR {
                throw CommandFailure(
                    .internal,
                    "The output can't be written (\(systemReason())): check where it goes."
                )
            }
        }
    }
}
