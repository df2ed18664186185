/// Following a value on the main actor as a user interface does: with its latest value, whichever way it comes.
extension Constant {
    /// Calls `show` with the value, before this returns, and when it changes. What changes it on the main thread is shown at once,
    /// also where observers hear of it elsewhere and later, as those of an optimistic store on a bus do.
    @MainActor
    func follow(until scope: DisposableScope, _ show: @escaping @MainActor (Value) -> Void) {
        guard let predictions else {
            observe(until: scope, on: MainActor.shared, show)
            return
        }
        let follower = MainActorFollower(read: read, show: show)
        observe(until: scope, on: MainActor.shared) { _ in follower.look() }
        predictions.observe(until: scope) {
            if MainThread.isCurrent { MainActor.assumeIsolated { follower.look() } }
        }
    }
}

/// Shows a value that may be newer than what it is notified of: always the latest one, so it never goes back.
@MainActor
private final class MainActorFollower<Value: Sendable> {
    private let read: @Sendable () -> Value
    private let show: @MainActor (Value) -> Void
    private var isShowing = false
    private var isLate = false

    init(read: @escaping @Sendable () -> Value, show: @escaping @MainActor (Value) -> Void) {
        self.read = read
        self.show = show
    }

    /// Who is shown a value may change it: that is shown after it.
    func look() {
        isLate = true
        guard !isShowing else { return }
        isShowing = true
        while isLate {
            isLate = false
            show(read())
        }
        isShowing = false
    }
}
