/// Why a ``TestBus`` can't start: what its configuration or a definition does wrong, a sentence for each mistake, with its place.
public struct TestBusError: Error, Equatable, Sendable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}
