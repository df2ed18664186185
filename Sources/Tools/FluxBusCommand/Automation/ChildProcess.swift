import BusSystem
import FluxBus
import Glibc

/// A command that this program runs, without a shell: its words reach it as they are.
final class ChildProcess {
    private let identifier: pid_t
    /// It leads a process group of its own, and signals go to all of that.
    private let leadsGroup: Bool
    /// What `waitpid` said; nil while it runs.
    private var word: Int32?

    /// Starts a command, which is looked for in `$PATH`.
    ///
    /// - Parameters:
    ///   - variables: What its environment has beside that of this program; nil takes a variable away.
    ///   - input: What it reads; nil is what this program reads.
    ///   - leadsGroup: It leads a process group of its own, so that a terminal's Ctrl-C does not reach it.
    init(
        _ words: [String], variables: [String: String?], input: Int32? = nil, leadsGroup: Bool
    ) throws(SystemError) {
        self.leadsGroup = leadsGroup
        let given = variables.compactMap { name, value in value.map { "\(name)=\($0)" } }
        let starts = variables.keys.map { $0 + "=" }
        identifier = try Spawning.start(
            words, searchesPath: true, variables: given,
            inherits: { text in !starts.contains { strncmp(text, $0, $0.utf8.count) == 0 } },
            streams: input.map { [STDIN_FILENO: .descriptor($0)] } ?? [:], leadsGroup: leadsGroup)
    }

    // MARK: Its end

    /// Whether it has exited. Asked again and again, it costs a system call each time until then.
    var hasExited: Bool {
        if word == nil { wait(WNOHANG) }
        return word != nil
    }

    /// How it exited: its status, or 128 and the number of the signal that ended it.
    var status: Int32 {
        guard let word else { return 0 }
        return word & 0x7f == 0 ? word >> 8 & 0xff : 128 + word & 0x7f
    }

    /// The same for people.
    var ending: String {
        guard let word, word & 0x7f != 0 else { return "ended with status \(status)" }
        return "was ended by signal \(word & 0x7f)"
    }

    private func wait(_ options: Int32) {
        var found: Int32 = 0
        while true {
            let answer = waitpid(identifier, &found, options)
            if answer < 0, errno == EINTR { continue }
            // Somebody else has waited for it: what it said is lost.
            if answer != 0 { word = answer == identifier ? found : 0 }
            return
        }
    }

    func send(_ signal: Int32) {
        if word == nil { kill(leadsGroup ? -identifier : identifier, signal) }
    }

    /// Ends commands: SIGTERM to their process groups; SIGKILL to what is left of them when they have exited, when `deadline` has
    /// passed, or when another signal says that it has to be now.
    static func end(_ children: [ChildProcess], until deadline: Deadline, _ signals: SignalPipe) {
        for child in children { child.send(SIGTERM) }
        var isUrgent = false
        while !isUrgent, !deadline.hasPassed, children.contains(where: { !$0.hasExited }) {
            signals.wait(until: deadline)
            isUrgent = signals.arrived().contains { $0 != SIGCHLD }
        }
        for child in children {
            if child.leadsGroup { kill(-child.identifier, SIGKILL) } else { child.send(SIGKILL) }
            if child.word == nil { child.wait(0) }
        }
    }
}
