import BusJSON
import FluxBus

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

    package func flush() throws { try output.flush() }

    /// A remark beside the result, on standard error; nothing with `--quiet`. Results written before it stay before.
    package func note(_ sentence: String) throws {
        guard !isQuiet else { return }
        shown.meter?.erase()
        try output.flush()
        try messages.write(messageStyle.paint(ScreenText.safe(sentence), .faint) + "\n")
        try messages.flush()
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
        try? messages.write("\(name) \(ScreenText.safe(failure.message))\n")
        try? messages.flush()
    }
}
