import Flux
import FluxTesting
import XCTest

/// The same in a test of XCTest.
final class WithXCTestTests: XCTestCase {
    func testExpectedChangesAreAccepted() async throws {
        let test = TestStore<Shelf>(state: Shelf()) { failure in
            XCTFail(failure.message, file: #filePath, line: UInt(failure.line))
        }
        try await test.dispatch(.add("tea")) {
            $0.items = ["tea"]
            $0.count = 1
        }
        test.dispatch(Thunk { $0.dispatch(.touch) })
        try await test.receive(.touch)
        try await test.finish()
    }

    func testWrongExpectationIsThrown() async throws {
        let test = TestStore<Shelf>(state: Shelf())
        do {
            try await test.dispatch(.add("tea")) { $0.items = ["tea"] }
            XCTFail("It did not fail.")
        } catch let failure as TestFailure {
            XCTAssertEqual(
                failure.message,
                "add(\"tea\") did not change the state as expected:\n    count: expected 0, got 1")
        }
    }
}
