import BusDefinitions
import BusJSON
import BusSource
import BusSystem
import FluxBus
import Glibc
import TypeTesting

/// Waits for changes of files and for keys, and responds to them.
final class DevLoop {
    private let directory: String
    private let session: CommandSession
    private let watch: DirectoryWatch
    /// The bus that is reloaded; nil while no bus answers and the files still have mistakes.
    private var bus: CommandSession?
    private var privateBus: PrivateBus?
    private var isWell = false

    init(_ directory: String, _ session: CommandSession) throws {
        self.directory = directory
        self.session = session
        watch = try DirectoryWatch(directory)
    }

    func run() throws {
        let signals = try SignalPipe([SIGINT, SIGTERM, SIGHUP])
        let keyboard = Keyboard(session.context.input)
        keyboard.begin()
        defer { keyboard.end() }
        if (try? session.connect()) != nil { bus = session }
        try check()
        while true {
            var waiting = [
                pollfd(fd: watch.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: keyboard.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&waiting, nfds_t(waiting.count), -1) >= 0 else {
                if errno == EINTR { continue }
                throw CommandFailure(.internal, "Can't wait for changes: \(systemReason()).")
            }
            if waiting[1].revents != 0 { return }
            if waiting[0].revents != 0, watch.changed() { try check() }
            if waiting[2].revents != 0 {
                for key in keyboard.read() {
                    switch key {
                    case UInt8(ascii: "q"): return
                    case UInt8(ascii: "r"), 10, 13: try reload()
                    default: break
                    }
                }
            }
        }
    }

    // MARK: Actions

    /// Checks and tests the files, and shows what a reload would change.
    private func check() throws {
        let report = TestReport(session.console, tap: false, showsPasses: false)
        do {
            isWell = try TypesTestCommand.run(directory, report)
        } catch let failure as CommandFailure {
            isWell = false
            session.console.report(failure)
        }
        if isWell {
            try startPrivately()
            try ask(isRehearsal: true)
        }
        try session.console.flush()
    }

    private func reload() throws {
        if isWell {
            try ask(isRehearsal: false)
        } else {
            try session.console.note("Nothing is reloaded while a file is wrong or a test fails.")
        }
        try session.console.flush()
    }

    private func ask(isRehearsal: Bool) throws {
        guard let bus else { return }
        do {
            let reply = try bus.ask(BusRequest("reload", isRehearsal ? ["dryRun": true] : [:]))
            try ReloadCommand.show(reply, isRehearsal: isRehearsal, on: session.console)
        } catch let error as BusError {
            session.console.report(CommandFailure(error))
        } catch let failure as CommandFailure {
            session.console.report(failure)
        }
        if isRehearsal { try session.console.note("r reloads, q ends") }
    }

    /// Starts a bus of its own if none answers.
    private func startPrivately() throws {
        guard bus == nil else { return }
        let started = try PrivateBus(types: directory, stores: Self.types(in: directory).map { "\($0)/main" })
        var options = session.options
        options.address = [started.address]
        let own = CommandSession(options: options, context: session.context)
        _ = try Waiter(session: own, wanted: .bus).run()
        (privateBus, bus) = (started, own)
        try session.console.note("A bus of its own: FLUXBUS_ADDRESS=\(started.address)")
    }

    /// Without views, whose stores the bus makes.
    private static func types(in directory: String) -> [String] {
        var errors: [SourceError] = []
        return TypeCatalog(directory: directory, &errors).types.filter { $0.view == nil }.map(\.name)
    }
}
