/// One command as a document prints it.
struct Example: Sendable {
    /// The line, without what explains it.
    let command: String
    /// What stands before it in its block and holds for it, `bus=/run/fluxbus/bus.sock`.
    var setting = ""
    /// Behind a line that stops the service, in the same block.
    var followsStop = false

    /// Ends only when it is ended.
    var isEndless: Bool {
        if command.hasPrefix("fluxbus web") || command.hasPrefix("fluxbus-web") { return true }
        if command.hasPrefix("fluxbus dev") { return true }
        if command.contains("sleep infinity") || command.contains("--follow") { return true }
        if command.hasPrefix("fluxbus watch") || command.hasPrefix("fluxbus on") {
            return !command.contains("--count")
        }
        return command.hasPrefix("fluxbus create") && command.contains("--ephemeral")
    }

    /// Goes to another bus than the one that an export came from.
    var isForAnotherBus: Bool {
        command.contains("fluxbus import") || command.hasPrefix("fluxbus replay house")
    }

    /// The codes with which it does what it should.
    var codes: Set<Int32> {
        // The bus of the examples is one machine's, and that is the answer.
        if command.hasPrefix("fluxbus cluster") { return [75] }
        // 1 says that something differs, 0 that nothing does: both are answers.
        return command.contains("fluxbus diff") || command.contains("fluxbus replay --check") ? [0, 1] : [0]
    }

    /// Why a command can't be run by a test; nil for one that can, and is.
    var reasonNotToRun: String? {
        if command == "fluxbus top" { return "It fills a terminal; its own tests give it one." }
        if followsStop { return "It wants a service that was stopped before." }
        return Self.reasons.first { command.hasPrefix($0.prefix) }?.reason
    }

    private static let reasons: [(prefix: String, reason: String)] = [
        ("sudo ", "It changes the machine."),
        ("systemctl ", "It changes the machine's service."),
        ("fluxbus cluster rescue", "It wants a daemon that is stopped; DisasterTests runs it."),
        ("install ", "It writes where the installed service keeps its state."),
        ("rm ", "It removes the installed service's state."),
        ("./deploy/try", "It builds everything; what stands below it in its block, it runs itself."),
        ("./Tests/run", "It runs the tests."),
        ("deploy/", "It installs, or builds a package; the tests of packages do that."),
        ("… | ", "A program of the reader's stands before it; the help of `dispatch` has a whole one."),
        ("sqlite3 copy.sqlite \"UPDATE", "It belongs to what is done while the service is stopped."),
    ]
}
