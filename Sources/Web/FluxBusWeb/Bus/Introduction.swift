import BusJSON
import FluxBus
import Synchronization

/// The first line of a browser, in which it shows a token of the bus: a guess until the bus has answered.
final class Introduction: Sendable {
    private struct State {
        var line = LineBuffer()
        var token: String?
        var guess: Guesses.Guess?
        var isMade = false
        var answer = LineBuffer()
        var isAnswered = false
    }

    /// The bus refuses longer ones.
    private static let longestLine = 64 << 10

    private let guesses: Guesses
    private let address: String?
    private let state = Mutex(State())

    init(_ guesses: Guesses, from address: String?) { (self.guesses, self.address) = (guesses, address) }

    deinit { state.withLock { if let guess = $0.guess { guesses.end(guess, nil) } } }

    /// Takes what the browser says before the bus gets it.
    func pass(_ bytes: [UInt8]) async throws(Guesses.TooMany) {
        let token: String?? = state.withLock { state in
            if state.isMade { return nil }
            bytes.withUnsafeBytes { state.line.append($0) }
            let line = state.line.next()
            guard line != nil || state.line.count > Self.longestLine else { return nil }
            (state.isMade, state.line) = (true, LineBuffer())
            state.token = line.flatMap { try? JSON(parsing: $0) }?["token"]?.string
            return .some(state.token)
        }
        guard let token else { return }
        let guess = try await guesses.begin(token ?? "", from: address)
        state.withLock { $0.guess = guess }
    }

    /// Takes what the bus says.
    func hear(_ bytes: [UInt8]) {
        state.withLock { state in
            if state.isAnswered { return }
            bytes.withUnsafeBytes { state.answer.append($0) }
            while let line = state.answer.next() {
                guard case .reply(let reply)? = try? BusMessage(parsing: line) else { continue }
                let isRight = reply["ok"] == true
                if let guess = state.guess {
                    guesses.end(guess, isRight ? nil : BusError(reply: reply["error"]).code)
                }
                if isRight, let token = state.token { guesses.addRight(token) }
                (state.guess, state.isAnswered, state.answer) = (nil, true, LineBuffer())
                return
            }
        }
    }
}
