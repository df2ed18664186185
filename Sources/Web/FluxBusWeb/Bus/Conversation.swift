import FluxBus
import FlyingFox
import FlyingSocks

/// One browser and the bus: lines both ways over a connection of its own.
///
/// Whoever does not read stops the one who sends: a browser that is slow is a slow reader for the bus, and a bus that takes
/// nothing leaves the browser's messages in its socket. A conversation lives as long as the stream of its frames.
final class Conversation: Talk {
    private typealias Frames = Outlet<WSFrame, WSCloseCode>

    /// How long the bus may take to accept a connection.
    private static let patience: Duration = .seconds(5)
    /// What fits beside a close frame's code.
    private static let longestReason = 123

    private static let signedOut = WSCloseCode(1008, reason: "You are no longer signed in.")

    private let outlet = Frames()
    private let browser: Caller
    private let work: Task<Void, Never>
    private let whenOver: @Sendable () -> Void

    init(
        _ client: AsyncThrowingStream<WSFrame, any Error>, with browser: Caller, _ bus: BusAccess,
        _ pool: any AsyncSocketPool, _ guesses: Guesses,
        whenOver: @escaping @Sendable () -> Void
    ) {
        self.whenOver = whenOver
        self.browser = browser
        let introduction = bus.isKnownWithoutToken ? nil : Introduction(guesses, from: browser.address)
        work = Task { [outlet] in await Self.talk(client, with: browser, introduction, bus, pool, outlet) }
    }

    deinit {
        work.cancel()
        outlet.end(nil)
        whenOver()
    }

    func end() { outlet.end(WSCloseCode(1001, reason: "fluxbus-web is shutting down.")) }

    func endIfSignedOut() {
        if !browser.isSignedIn() { outlet.end(Self.signedOut) }
    }

    /// The next frame for the browser; after the last nobody waits for anything any more, so descriptors may be closed.
    func next() async -> WSFrame? {
        switch await outlet.next() {
        case .frame(let frame): return frame
        case .end(let code):
            work.cancel()
            await work.value
            return code.map { .close(code: $0.withShortReason(Self.longestReason)) }
        }
    }

    private static func talk(
        _ client: AsyncThrowingStream<WSFrame, any Error>, with browser: Caller,
        _ introduction: Introduction?, _ bus: BusAccess, _ pool: any AsyncSocketPool, _ outlet: Frames
    ) async {
        let link: BusLink
        do throws(BusError) {
            link = try await BusLink.open(bus, for: browser, pool, within: patience)
        } catch {
            let reason =
                error.code == .unreachable && bus.isKnownWithoutToken
                ? "Bus not running at \(bus.address)" : error.message
            return outlet.end(WSCloseCode(1013, reason: reason))
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await carryToBus(client, browser, introduction, link, outlet) }
            group.addTask { await carryFromBus(link, browser, introduction, outlet) }
            await group.next()
            group.cancelAll()
        }
    }

    private static func carryToBus(
        _ client: AsyncThrowingStream<WSFrame, any Error>, _ browser: Caller,
        _ introduction: Introduction?, _ link: BusLink, _ outlet: Frames
    ) async {
        var reader = MessageReader()
        do {
            for try await frame in client {
                guard browser.isSignedIn() else { return outlet.end(signedOut) }
                switch reader.take(frame) {
                case .nothing: continue
                case .pong(let payload):
                    outlet.giveFirst(WSFrame(fin: true, opcode: .pong, mask: nil, payload: payload))
                case .close(let code): return outlet.end(code)
                case .send(let bytes):
                    let passed = try await introduction?.pass(bytes) ?? bytes
                    if passed.isEmpty { continue }
                    // What the bus says before it ends is still to be read, so the other way finds out.
                    do { try await link.write(passed) } catch { return await untilCancelled() }
                }
            }
            outlet.end(nil)
        } catch is CancellationError {
        } catch let limit as Guesses.TooMany {
            outlet.end(WSCloseCode(1008, reason: limit.sentence))
        } catch {
            outlet.end(WSCloseCode(1002, reason: "A frame can't be read."))
        }
    }

    private static func carryFromBus(
        _ link: BusLink, _ browser: Caller, _ introduction: Introduction?, _ outlet: Frames
    ) async {
        var writer = MessageWriter()
        while let bytes = try? await link.read() {
            guard browser.isSignedIn() else { return outlet.end(signedOut) }
            introduction?.hear(bytes)
            guard await outlet.give(writer.frames(of: bytes)) else { return }
        }
        if !Task.isCancelled { outlet.end(WSCloseCode(1001, reason: "The bus ended the connection.")) }
    }

    private static func untilCancelled() async {
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        await withTaskCancellationHandler {
            for await _ in stream {}
        } onCancel: {
            continuation.finish()
        }
    }
}

extension WSCloseCode {
    /// The same with a reason of at most so many bytes, cut between characters.
    func withShortReason(_ most: Int) -> WSCloseCode {
        var short = self
        while short.reason.utf8.count > most { short.reason.removeLast() }
        return short
    }
}
