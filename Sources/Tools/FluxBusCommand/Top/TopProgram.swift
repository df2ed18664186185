import BusJSON
import FluxBus
import Glibc

/// The running `top`: waits for keys, signals, replies and the time of the next sample, and draws.
final class TopProgram {
    private enum Link {
        case connected(BusConnection)
        /// Since the connection was lost: when to give up, and when to try next.
        case lost(until: Deadline, next: Double)
    }

    private let session: CommandSession
    private let terminal: FullScreen
    private let signals: SignalPipe
    private let screen: TopScreen
    private let start = ContinuousClock.now

    private var view: TopView
    private var keys = KeyReader()
    private var sampler = TopSampler()
    private var model: TopModel?
    private var latest: TopSample?
    private var link: Link
    /// When the last sample was asked for; nil before the first.
    private var asked: Double?
    private var ending: Int32?

    private static let ends = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
    /// A reply that takes longer is told of.
    private static let patience = 2.0
    /// How long one attempt to connect may keep the keys waiting.
    private static let attempt = Duration.seconds(1)
    private static let pause = 0.5

    init(_ session: CommandSession, screen: TopScreen, view: TopView) throws {
        self.session = session
        self.screen = screen
        self.view = view
        let output = session.console.output
        terminal = FullScreen(
            output: output, descriptor: output.descriptor ?? STDOUT_FILENO, input: session.context.input)
        // Before the screen is taken: what is wrong from the start is said as by any command.
        link = .connected(try session.connect())
        signals = try SignalPipe(Self.ends + [SIGWINCH, SIGTSTP, SIGCONT])
    }

    /// Runs until somebody ends it. Gives the signal that did, which is then to end the process.
    func run() throws -> Int32? {
        try terminal.enter()
        defer { terminal.leave() }
        var isDue = true
        while true {
            if isDue { try draw() }
            isDue = try turn()
            if let ending { return ending == 0 ? nil : ending }
        }
    }

    private var now: Double {
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        return Double(seconds) + Double(attoseconds) / 1e18
    }

    private func draw() throws { try terminal.draw(screen.render(model, view, size: terminal.size)) }

    /// Waits once and handles what came; true if something is to be drawn.
    private func turn() throws -> Bool {
        var isDue = try ask()
        var entries = [
            pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: terminal.keys ?? -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: -1, events: Int16(POLLIN), revents: 0),
        ]
        if case .connected(let connection) = link {
            entries[2].fd = connection.descriptor
            if connection.unsentBytes > 0 { entries[2].events |= Int16(POLLOUT) }
        }
        if isDue { return true }
        poll(&entries, nfds_t(entries.count), Int32(min(3_600_000, max(0, waiting * 1000).rounded(.up))))
        if entries[0].revents != 0 {
            isDue = true
            for number in signals.arrived() { try take(signal: number) }
        }
        if entries[1].revents != 0 {
            isDue = true
            for key in keys.keys(in: terminal.read()) where !view.press(key) { ending = 0 }
        }
        return try receive() || isDue
    }

    /// How long nothing is to be done by itself, in seconds.
    private var waiting: Double {
        switch link {
        case .lost(_, let next): next - now
        case .connected: sampler.isAsking ? 1 : (asked.map { $0 + view.interval } ?? 0) - now
        }
    }

    // MARK: - The bus

    /// Asks for the next sample when it is time, or connects again; true if something is to be drawn.
    private func ask() throws -> Bool {
        switch link {
        case .connected(let connection):
            if sampler.isAsking {
                let silence = now - (asked ?? now)
                guard silence > Self.patience else { return false }
                if let most = session.options.timeout.duration, .seconds(silence) > most {
                    lose()
                    return true
                }
                let text = "no answer for \(Int(silence)) s"
                defer { view.trouble = text }
                return view.trouble != text
            }
            guard asked.map({ now >= $0 + view.interval }) ?? true else { return false }
            asked = now
            for request in sampler.begin() { connection.queue(request) }
            return false
        case .lost(let deadline, let next):
            guard now >= next else { return false }
            do {
                link = .connected(try session.connect(until: Deadline(after: Self.attempt).earlier(deadline)))
                view.trouble = nil
            } catch let error as BusError where Reconnection.mayPass(error) {
                guard !deadline.hasPassed else { throw BusError(.unreachable, error.message) }
                link = .lost(until: deadline, next: now + Self.pause)
            }
            return true
        }
    }

    private func lose() {
        link = .lost(until: session.replyDeadline, next: now)
        (sampler, asked) = (TopSampler(), nil)
        view.trouble = "connection lost, trying again"
    }

    /// Takes what has come from the bus; true if something is to be drawn.
    private func receive() throws -> Bool {
        guard case .connected(let connection) = link else { return false }
        var isDue = false
        do throws(BusError) {
            _ = try connection.wait(until: Deadline(after: .zero))
            while let line = connection.receiveLineIfReady() {
                guard case .reply(let reply) = try BusMessage(parsing: line) else { continue }
                switch try sampler.take(reply, at: now) {
                case .wait: break
                case .ask(let request): connection.queue(request)
                case .sample(let sample):
                    take(sample)
                    isDue = true
                }
            }
        } catch {
            guard Reconnection.mayPass(error) else { throw error }
            lose()
            return true
        }
        return isDue
    }

    private func take(_ sample: TopSample) {
        view.trouble = nil
        let model = TopModel(sample, since: latest)
        latest = sample
        guard !view.isPaused else { return }
        self.model = model
        view.note(model.commitRate)
    }

    // MARK: - Signals

    private func take(signal number: Int32) throws {
        switch number {
        case SIGTSTP:
            terminal.leave()
            signals.leave(SIGTSTP)
            raise(SIGTSTP)
            // Here it goes on, in the foreground or not.
            signals.take(SIGTSTP)
            try terminal.enter()
        case SIGCONT:
            // Whoever had the terminal meanwhile may have changed it.
            terminal.leave()
            try terminal.enter()
        case SIGWINCH: break
        default: ending = number
        }
    }
}
