import Flux
import Synchronization

/// Writes down what observers saw, from any thread.
final class Journal<Entry: Sendable>: Sendable {
    private let lines = Mutex<[Entry]>([])

    var entries: [Entry] { lines.withLock { $0 } }

    func write(_ entry: Entry) { lines.withLock { $0.append(entry) } }
}
