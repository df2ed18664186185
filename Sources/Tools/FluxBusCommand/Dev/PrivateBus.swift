import BusSystem
import Glibc

/// A daemon that only this process uses, with all in memory. It ends when it is let go.
final class PrivateBus {
    let address: String
    private let directory: PrivateDirectory
    private var process: pid_t = 0

    init(types: String, stores: [String]) throws {
        do throws(SystemError) {
            directory = try PrivateDirectory(in: PrivateDirectory.shortParent, prefix: "fluxbus-dev")
            // Without one it would take that of the machine's own bus.
            try directory.write("fluxbusd.yaml", "{}\n")
        } catch {
            throw CommandFailure(.temporary, "A directory for a bus can't be made: \(error).")
        }
        address = "unix:\(directory.path)/bus.sock"
        guard let program = SiblingProgram.path(of: "fluxbusd") else {
            throw CommandFailure(
                .unreachable,
                "There is no fluxbusd beside this program or in $PATH; install it, or name a bus.")
        }
        let words =
            [
                program, "--config", "\(directory.path)/fluxbusd.yaml", "--listen", address, "--types", types,
                "--log-level", "error",
            ] + stores.flatMap { ["--store", $0] }
        try start(words)
    }

    deinit {
        // 0 would be this process, and all of its group.
        guard process > 0 else { return }
        kill(process, SIGTERM)
        var status: Int32 = 0
        waitpid(process, &status, 0)
    }

    /// Starts it without any variable, since some configure daemons, and with nothing to read.
    private func start(_ words: [String]) throws {
        do {
            process = try Spawning.start(
                words, variables: [],
                streams: [
                    STDIN_FILENO: .file("/dev/null", flags: O_RDONLY),
                    STDOUT_FILENO: .file("/dev/null", flags: O_WRONLY),
                    STDERR_FILENO: .file("\(directory.path)/messages", flags: O_WRONLY | O_CREAT),
                ])
        } catch {
            throw CommandFailure(.unreachable, "\(words[0]) can't be started: \(error.reason).")
        }
    }
}

/// The other programs of the package.
enum SiblingProgram {
    /// The first that can be started, beside this program or in `$PATH`.
    static func path(of name: String) -> String? {
        WebCommand.places(
            of: name, beside: WebCommand.ownPath(), path: getenv("PATH").map { String(cString: $0) }
        )
        .first { access($0, X_OK) == 0 }
    }
}
