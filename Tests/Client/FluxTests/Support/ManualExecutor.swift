import Flux
import Synchronization

/// An executor that does nothing by itself: a test carries its work out, piece by piece.
final class ManualExecutor: Sendable {
    private let work = Mutex<[@Sendable () -> Void]>([])

    var executor: FluxExecutor {
        FluxExecutor { [self] piece in work.withLock { $0.append(piece) } }
    }

    var count: Int { work.withLock { $0.count } }

    /// Carries one piece out, by default the oldest.
    func step(_ index: Int = 0) {
        let piece = work.withLock { $0.remove(at: index) }
        piece()
    }

    func runAll() { while count > 0 { step() } }
}
