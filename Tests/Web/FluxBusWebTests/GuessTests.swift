import FluxBus
import FluxBusWeb
import Testing

@Suite("Guesses", .timeLimit(.minutes(10)))
struct GuessTests {
    private static let (here, there) = ("192.0.2.1:7", "[2001:db8::1]:7")

    private static func guess(
        _ guesses: Guesses, from address: String?, _ code: BusError.Code? = .unauthorized
    ) async throws(Guesses.TooMany) {
        guesses.end(try await guesses.begin("token", from: address), code)
    }

    private static func exhaust(_ guesses: Guesses, from address: String?) async throws {
        for _ in 0..<10 { try await guess(guesses, from: address) }
        let refusal = await #expect(throws: Guesses.TooMany.self) { try await guess(guesses, from: address) }
        #expect(refusal?.seconds == 60)
    }

    @Test func theyAreCountedByWhereTheyComeFrom() async throws {
        let clock = ManualClock()
        let guesses = Guesses { clock.seconds }
        for address in [Self.here, Self.there, nil] { try await Self.exhaust(guesses, from: address) }
        // Whatever the port.
        await #expect(throws: Guesses.TooMany.self) { try await Self.guess(guesses, from: "192.0.2.1:8") }
        clock.advance(by: .seconds(60))
        try await Self.exhaust(guesses, from: Self.here)
    }

    @Test func oneThatWasNotWrongIsTakenBack() async throws {
        let guesses = Guesses { 1000 }
        for code in [nil, .unreachable, .unknownStore] as [BusError.Code?] {
            for _ in 0..<20 { try await Self.guess(guesses, from: Self.here, code) }
        }
        try await Self.exhaust(guesses, from: Self.here)
    }

    /// However many come at a time; and none is refused before it is known that these were wrong.
    @Test func tenAreLookedAtAtATime() async throws {
        let guesses = Guesses { 1000 }
        var looked: [Guesses.Guess] = []
        for _ in 0..<10 { looked.append(try await guesses.begin("token", from: Self.here)) }
        let right = Task { try await guesses.begin("right", from: Self.here) }
        guesses.end(looked.removeLast(), nil)
        looked.append(try await right.value)
        let wrong = Task { try await guesses.begin("token", from: Self.here) }
        for guess in looked { guesses.end(guess, .unauthorized) }
        await #expect(throws: Guesses.TooMany.self) { try await wrong.value }
    }

    @Test func oneThatWasRightIsNoGuess() async throws {
        let guesses = Guesses { 1000 }
        guesses.addRight("token")
        for _ in 0..<20 { try await Self.guess(guesses, from: Self.here, nil) }
        // Until the bus takes it no more.
        try await Self.guess(guesses, from: Self.here)
        try await Self.exhaust(guesses, from: Self.here)
    }

    /// Whoever has many addresses takes no room for each.
    @Test func manyAddressesShareOneLimit() async throws {
        let clock = ManualClock()
        let guesses = Guesses { clock.seconds }
        for number in 0..<100 { try await Self.guess(guesses, from: "192.0.2.\(number):7") }
        try await Self.exhaust(guesses, from: "198.51.100.1:7")
        await #expect(throws: Guesses.TooMany.self) { try await Self.guess(guesses, from: "198.51.100.2:7") }
        clock.advance(by: .seconds(60))
        try await Self.exhaust(guesses, from: "198.51.100.3:7")
        try await Self.guess(guesses, from: "198.51.100.4:7")
    }
}
