import TestSupport
import Testing

/// Runs each test of a suite on buses of one machine, and again on shared buses. A test that is about one mode alone says
/// so, with its reason, and that outweighs what its suite says.
package struct InModes: SuiteTrait, TestTrait, TestScoping {
    private let modes: [BusMode]
    /// Why it runs in one mode only; nil: it runs in both.
    package let reason: String?

    private init(_ modes: [BusMode], because reason: String?) {
        self.modes = modes
        self.reason = reason
    }

    package static let both = InModes(BusMode.allCases, because: nil)
    package static func alone(because reason: String) -> InModes { InModes([.alone], because: reason) }

    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        // A test that says which modes it is for has the last word.
        let chosen = test.traits.compactMap { $0 as? InModes }
        guard !test.isSuite, let last = chosen.last, last.id == id else { return try await function() }
        for mode in modes { try await BusMode.$current.withValue(mode) { try await perform(function, mode) } }
    }

    /// A failure in a shared bus says so.
    private func perform(_ function: @Sendable () async throws -> Void, _ mode: BusMode) async throws {
        do { try await function() } catch {
            throw ModeFailure(mode: mode, error: error)
        }
    }

    private var id: String { reason ?? "" }
}

/// What a test threw in one mode.
private struct ModeFailure: Error, CustomStringConvertible {
    let mode: BusMode
    let error: any Error
    var description: String { "On a bus that is \(mode): \(error)" }
}

extension Trait where Self == InModes {
    /// On a bus of one machine, and on a shared bus.
    package static var inBothModes: InModes { .both }
    /// On a bus of one machine only, for a reason.
    package static func aloneOnly(because reason: String) -> InModes { .alone(because: reason) }
}
