import Flux
import FluxTesting
import Testing

@Suite struct DispatchingTests {
    @Test func expectedChangeIsAccepted() async throws {
        let test = TestStore<Shelf>(state: Shelf())
        try await test.dispatch(.add("tea")) { $0.items = ["tea"] }
        #expect(test.state.items == ["tea"])
        try await test.finish()
    }
}
