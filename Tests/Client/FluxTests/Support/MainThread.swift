import Flux
import TestInterface
import Testing

/// Returns when all that waited for the main thread at the call has been done there.
@MainActor
func settleMainThread() async {
    await withCheckedContinuation { continuation in
        FluxExecutor.mainThread.execute { continuation.resume() }
    }
}

/// A test that has the main thread's line for itself: it begins when nothing waits there, and others of the trait when it has ended.
struct MainThreadTrait: TestTrait, SuiteTrait, TestScoping {
    /// Tests one by one, not a suite as a whole.
    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        await MainThreadTurn.shared.take()
        await settleMainThread()
        let result: Result<Void, any Error>
        do { result = .success(try await function()) } catch { result = .failure(error) }
        await settleMainThread()
        await MainThreadTurn.shared.give()
        try result.get()
    }
}

extension Trait where Self == MainThreadTrait {
    /// The test looks at what waits for the main thread, or makes something wait there.
    static var mainThread: Self { MainThreadTrait() }
}
