/// A kind of event for a ``Dispatcher``: something that was tried, and ended well with a payload or badly with a failure.
///
/// ```swift
/// enum FetchTodos: Outcome {
///     typealias Payload = [Todo]
///     typealias Failure = FetchError
/// }
/// try dispatcher.dispatch(FetchTodos.self, .success([todo]))
/// ```
public protocol Outcome {
    /// What comes of it when it goes well.
    associatedtype Payload: Sendable
    /// What comes of it when it goes wrong; `Never` if it can't.
    associatedtype Failure: Error
}
