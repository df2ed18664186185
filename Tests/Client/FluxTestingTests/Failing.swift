import FluxTesting
import Testing

/// The message of the failure that `body` throws; nil and an issue if it throws none.
func failure(
    isolation: isolated (any Actor)? = #isolation, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> Void
) async throws -> String? {
    do {
        try await body()
    } catch let failure as TestFailure {
        return failure.message
    }
    Issue.record("It did not fail.", sourceLocation: sourceLocation)
    return nil
}
