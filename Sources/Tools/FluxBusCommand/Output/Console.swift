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
    package func line(_ text: String) throws { try output.write(text + "\n") }

    /// Prints one line for programs.
    package func line(_ value: JSON) throws { try output.write(line: value) }

    /// Prints one line for programs, with the members in the order in which people like to read them.
    package func row(_ members: KeyValuePairs<String, JSON>) throws {
        var text = ""
        for (name, value) in members {
            text += (text.isEmpty ? "{" : ",") + JSON.string(name).encoded + ":" + value.encoded
        }
        try output.write(text + "}\n")
    }

    package func flush() throws { try output.flush() }

    /// A remark beside the result, on standard error; nothing with `--quiet`. Results written before it stay before.
    package func note(_ sentence: String) throws {
        guard !isQuiet else { return }
        try output.flush()
        try messages.write(messageStyle.paint(ScreenText.safe(sentence), .faint) + "\n")
        try messages.flush()
    }

    /// Reports why the command fails, on standard error. A failure of this can't be reported.
    package func report(_ failure: CommandFailure) {
        guard !failure.message.isEmpty else { return }
        let name = messageStyle.paint("fluxbus:", .failure)
        try? messages.write("\(name) \(ScreenText.safe(failure.message))\n")
        try? messages.flush()
    }
}
