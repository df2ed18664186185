import BusProtocol
import BusSource

/// What is wrong in a definition: everything that can be found at once, and not only the first.
///
/// An error keeps it from being compiled. A doubt does not: it is about something that has a meaning, but surely not
/// the one that was meant. A file may have neither. A definition that a bus accepted before, which comes back from a
/// log, is asked for errors only, so that no history becomes unreadable because more doubts are known.
final class Mistakes {
    /// Whether doubts count.
    let isStrict: Bool
    /// Whether a payload member of an action is one of another type's action of the same name.
    var isTakenElsewhere: (_ action: String, _ member: String) -> Bool = { _, _ in false }
    private(set) var errors: [SourceError] = []
    private(set) var doubts: [SourceError] = []

    init(isStrict: Bool) { self.isStrict = isStrict }

    var count: Int { errors.count + doubts.count }
    var isEmpty: Bool { count == 0 }

    func add(_ error: SourceError) {
        if !errors.contains(error) { errors.append(error) }
    }

    func add(_ message: String, at place: Place) { add(SourceError(message, at: place)) }

    func doubt(_ message: String, at place: Place) {
        let doubt = SourceError(message, at: place)
        if isStrict, !doubts.contains(doubt) { doubts.append(doubt) }
    }

    /// The value, or nil after its error was added.
    @discardableResult
    func collect<Value>(_ body: () throws(SourceError) -> Value) -> Value? {
        do throws(SourceError) {
            return try body()
        } catch {
            add(error)
            return nil
        }
    }

    /// All of them in the order of their places.
    var inOrder: [SourceError] {
        (errors + doubts).sorted { ($0.line, $0.column) < ($1.line, $1.column) }
    }

    /// The one to name where there is room for one: what keeps it from being compiled explains more.
    var first: SourceError? {
        let kind = errors.isEmpty ? doubts : errors
        return kind.min { ($0.line, $0.column) < ($1.line, $1.column) }
    }
}
