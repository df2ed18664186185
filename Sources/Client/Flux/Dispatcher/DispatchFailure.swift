/// A queued dispatch whose handlers failed; see ``Dispatcher/failures``.
public struct DispatchFailure: Sendable {
    /// The name of the kind of outcome.
    public let outcome: String
    public let error: any Error
}
