import Flux

/// Returns when all that waited for the main thread at the call has been done there.
@MainActor
func settleMainThread() async {
    await withCheckedContinuation { continuation in
        Executor.mainThread.execute { continuation.resume() }
    }
}
