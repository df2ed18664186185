import FluxBus
import Foundation
import Testing

/// Errors as people read them.
@Suite struct BusErrorTests {
    @Test func errorPrintsItsMessage() {
        let error: any Error = BusError(.conflict, "Read it again.", details: ["revision": 7])
        #expect("\(error)" == "Read it again.")
        #expect(error.localizedDescription == "Read it again.")
    }

    /// What a program prints that nobody has given a bus.
    @Test func absentDaemonIsOneSentence() async throws {
        let address = try BusAddress(parsing: "unix:/nowhere/bus.sock")
        let error = await #expect(throws: BusError.self) { try await Bus.connect(address) }
        #expect(
            error?.description
                == "No bus answers at unix:/nowhere/bus.sock (No such file or directory).")
    }
}
