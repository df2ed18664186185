import BusLogic
import BusMachine
import BusSource

/// Collects all errors, so that an operator who made three mistakes starts the daemon twice and not four times.
struct ConfigurationErrors {
    private(set) var errors: [SourceError] = []

    mutating func add(_ error: SourceError) { errors.append(error) }
    mutating func add(_ message: String, at place: Place) { errors.append(SourceError(message, at: place)) }

    /// Adds why definitions do not fit the stores in the log, each reason where its type is defined, or else where the
    /// log is named.
    mutating func add(_ refusal: Redefinition.Refusal, of types: [any StateType], log: Place) {
        for (type, reason) in refusal.reasons {
            let declared = types.first { $0.name == type } as? DeclaredType
            add(reason, at: declared?.place ?? log)
        }
        if refusal.more > 0 { add("There are \(refusal.more) more errors of this kind.", at: log) }
    }

    var isEmpty: Bool { errors.isEmpty }

    /// The failure of a start with these errors.
    var failure: StartFailure { StartFailure(.configuration, errors.lines) }

    /// The value, or nil after recording the error.
    mutating func collect<Value>(_ body: () throws(SourceError) -> Value) -> Value? {
        do throws(SourceError) {
            return try body()
        } catch {
            errors.append(error)
            return nil
        }
    }

    /// Adds the errors of a file, in the order of its lines.
    mutating func addSorted(_ more: ConfigurationErrors) {
        errors += more.errors.sorted { ($0.line, $0.column) < ($1.line, $1.column) }
    }

    func throwIfAny() throws(StartFailure) {
        if !errors.isEmpty { throw failure }
    }
}
