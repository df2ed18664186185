/// What somebody else does for an event, and may be given up: they go on with it.
final class AwaitedDeed: RunningDeed {
    private let onEnd: @Sendable () -> Void

    /// - Parameter onEnd: Called where it is given up.
    init(_ onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }

    func end() { onEnd() }
}
