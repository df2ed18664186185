/// A kind of event for a ``Dispatcher``: something that was tried, and ended well with a
/// payload or badly with a failure.
///
/// ```swift
/// enum FetchTodos: Outcome {
///     typealias Payload = [Todo]
///     typealias Failure = FetchError
/// }
/// try dispatcher.dispatch(FetchTodos.self, .success([todo]))
/// ```
public protocol Outcome {
    /// The result of a success.
    associatedtype Payload: Sendable
    /// The result of a failure; `Never` if it can't fail.
    associatedtype Failure: Error
}
