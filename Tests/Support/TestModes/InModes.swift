import TestSupport
import Testing

/// Runs each test of a suite on buses of one machine, and again on shared buses. A test that is about one mode alone says
/// so, with its reason, and that outweighs what its suite says.
package struct InModes: SuiteTrait, TestTrait, TestScoping {
    private let modes: [BusMode]
    /// Why it runs in one mode only; nil: it runs in both.
    package let reason: String?

    package static let both = InModes(modes: BusMode.allCases, reason: nil)
    package static func alone(because reason: String) -> InModes { InModes(modes: [.alone], reason: reason) }

    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        // A test that says which modes it is for has the last word.
        let chosen = test.traits.compactMap { $0 as? InModes }
        guard !test.isSuite, let last = chosen.last, last.reason == reason else {
            return try await function()
        }
        for mode in modes { try await perform(function, mode, test, testCase) }
    }

    /// What fails says on which bus.
    private func perform(
        _ function: @Sendable () async throws -> Void, _ mode: BusMode, _ test: Test, _ testCase: Test.Case?
    ) async throws {
        let naming = IssueHandlingTrait.compactMapIssues { issue in
            var issue = issue
            issue.comments.append("On a bus that is \(mode).")
            return issue
        }
        try await naming.provideScope(for: test, testCase: testCase) {
            do {
                let count = SharedBusCount()
                try await BusMode.$current.withValue(mode) {
                    try await BusMode.$count.withValue(count) { try await function() }
                }
                if mode == .shared, count.isZero {
                    Issue.record(
                        "This test makes no shared bus; say why by `.aloneOnly(because:)`.",
                        sourceLocation: test.sourceLocation)
                }
            } catch is ExpectationFailedError {
            } catch {
                Issue.record(error, sourceLocation: test.sourceLocation)
            }
        }
    }
}

extension Trait where Self == InModes {
    /// On a bus of one machine, and on a shared bus.
    package static var inBothModes: InModes { .both }
    /// On a bus of one machine only, for a reason.
    package static func aloneOnly(because reason: String) -> InModes { .alone(because: reason) }
}
