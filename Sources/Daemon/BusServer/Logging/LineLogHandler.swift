import BusProtocol
import Glibc
import Logging

/// Writes the log to stderr, one line per entry: `LEVEL message key=value`. The reader of stderr adds times and names.
/// Lines of several threads don't mix, and none of them waits for that reader: `LineSink`.
package struct LineLogHandler: LogHandler {
    package var logLevel: Logger.Level
    package var metadata: Logger.Metadata = [:]
    private let sink: LineSink

    package init(level: Logger.Level, descriptor: Int32 = STDERR_FILENO) {
        logLevel = level
        sink = LineSink(descriptor)
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        sink.write(Self.line(event.level, event.message.description, all)) { count in
            Self.line(
                .warning, "\(count) messages were dropped, because nobody read standard error.",
                LogKind.leftOut.metadata)
        }
    }

    /// The line as it is written. Line ends and control characters from clients are escaped, not passed on.
    package static func line(_ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata) -> String
    {
        var line = "\(level.rawValue.uppercased()) \(visible(message))"
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) where key != LogKind.key {
            let text = visible(value.description)
            line += text.contains(" ") || text.isEmpty ? " \(key)=\"\(text)\"" : " \(key)=\(text)"
        }
        return line + "\n"
    }

    private static func visible(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var shown = ""
        for scalar in text.unicodeScalars {
            if isControl(scalar) {
                shown += scalar.escaped(asASCII: true)
            } else {
                shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value)
    }
}

/// Log levels as written in flags and variables.
package enum LogLevelText {
    package static func read(_ text: String, from source: String) throws(StartFailure) -> Logger.Level {
        if let level = Logger.Level(rawValue: text) { return level }
        let hint = suggestion(for: text, among: Logger.Level.allCases.map(\.rawValue))
        throw StartFailure(.configuration, "\(source): invalid value `\(text)` for the log level; \(hint)")
    }
}
