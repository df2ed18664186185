import FluxBusCommand
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// One run of a command line in this process: what it printed, and how it ended.
struct CommandRun {
    let status: CommandStatus
    let output: String
    let messages: String

    var lines: [String] { output.split(separator: "\n").map(String.init) }

    /// Parses and runs `arguments`; `input` is its standard input.
    init(
        _ arguments: [String], bus: String? = nil, token: String? = nil, input: String = "",
        terminal: Bool = false, width: Int? = nil, output given: Channel? = nil,
        now: Int = 1_795_219_985_072, calendar: LocalCalendar = TestZone.greenwich,
        names: [Int: String] = [:]
    ) throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        // Tests give less than a pipe holds, so nobody has to read meanwhile.
        try #require(input.utf8.count <= 65536)
        _ = Array(input.utf8).withUnsafeBytes { write(ends[1], $0.baseAddress, $0.count) }
        close(ends[1])

        let output = given ?? Channel(memoryAsTerminal: terminal, width: width)
        let messages = Channel(memoryAsTerminal: false)
        var environment: [String: String] = [:]
        environment["FLUXBUS_ADDRESS"] = bus
        environment["FLUXBUS_TOKEN"] = token
        let context = CommandContext(
            environment: environment, input: ends[0], output: output, messages: messages,
            now: { now }, calendar: calendar, userName: { names[$0] },
            userNumber: { name in names.first { $0.value == name }?.key })
        let command = try #require(try RootCommand.parseAsRoot(arguments) as? any BusCommand)
        status = command.execute(in: context)
        self.output = given == nil ? output.text : ""
        self.messages = messages.text
    }
}
