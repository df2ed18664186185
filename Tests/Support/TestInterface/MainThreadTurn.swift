/// Whose turn it is to have work for the main thread: one test at a time, in the order in which they come. All test targets are one
/// program, and there are tests that look at what waits there.
package actor MainThreadTurn {
    package static let shared = MainThreadTurn()

    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    package func take() async {
        if isTaken {
            await withCheckedContinuation { waiting.append($0) }
        } else {
            isTaken = true
        }
    }

    package func give() {
        if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
    }
}
