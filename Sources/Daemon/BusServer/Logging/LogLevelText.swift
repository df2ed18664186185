import BusProtocol
import Logging

/// Log levels as written in flags and variables.
package enum LogLevelText {
    package static func read(_ text: String, from source: String) throws(StartFailure) -> Logger.Level {
        if let level = Logger.Level(rawValue: text) { return level }
        let hint = suggestion(for: text, among: Logger.Level.allCases.map(\.rawValue))
        throw StartFailure(.configuration, "\(source): invalid value `\(text)` for the log level; \(hint)")
    }
}
