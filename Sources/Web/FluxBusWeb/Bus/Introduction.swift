import BusJSON
import FluxBus
import Synchronization

/// The first line of a browser, in which it shows a token of the bus: a guess until the bus has answered. Its `via` is replaced by
/// the browser's address, or left out where that is not known. Where it is known, later lines can't change it.
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

    /// Takes what the browser says, and returns what the bus gets: nothing until the first line is complete.
    func pass(_ bytes: [UInt8]) async throws(Guesses.TooMany) -> [UInt8] {
        let (passed, token): ([UInt8], String?) = state.withLock { state in
            if state.isMade { return (bytes, nil) }
            bytes.withUnsafeBytes { state.line.append($0) }
            let line = state.line.next()
            guard line != nil || state.line.count > Self.longestLine else { return ([], nil) }
            state.isMade = true
            // Anything but an object becomes an empty one: the bus refuses both.
            var hello = line.flatMap { try? JSON(parsing: $0) }?.object ?? [:]
            state.token = hello["token"]?.string
            hello["via"] = address.map(JSON.string)
            var passed = line == nil ? [] : Array((JSON.object(hello).encoded + "\n").utf8)
            state.line.takeAll { passed += $0 }
            return (passed, state.token ?? "")
        }
        guard let token else { return passed }
        let guess = try await guesses.begin(token, from: address)
        state.withLock { $0.guess = guess }
        return passed
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
