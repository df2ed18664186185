import BusEngine
import Logging

/// The engine's diagnostics as log entries with their fields.
extension ClientLog {
    func note(_ note: Diagnostic) {
        var details: Logger.Metadata = [:]
        let type = note.type ?? note.store.map { String($0.prefix { $0 != "/" }) }
        if let type { details["type"] = .string(type) }
        if let store = note.store { details["store"] = .string(store) }
        if let action = note.action { details["action"] = .string(action) }
        if let revision = note.revision { details["revision"] = .stringConvertible(revision) }
        self.note(
            Logger.Level(note.level), note.message, note.peer, kind: LogKind(note.kind), details: details)
    }
}

extension LogKind {
    fileprivate init(_ kind: Diagnostic.Kind) {
        self =
            switch kind {
            case .reloaded: .reloaded
            case .reloadRefused: .reloadRefused
            case .definitionKept: .definitionKept
            case .willRejected: .willRejected
            case .timerRejected: .timerRejected
            case .denied: .denied
            case .slowConsumer: .clientCutOff
            case .kicked: .kicked
            case .storeCreated: .storeCreated
            case .storeDropped: .storeDropped
            case .committed: .committed
            }
    }
}

extension Logger.Level {
    fileprivate init(_ level: Diagnostic.Level) {
        self =
            switch level {
            case .debug: .debug
            case .info: .info
            case .notice: .notice
            case .warning: .warning
            case .error: .error
            }
    }
}
