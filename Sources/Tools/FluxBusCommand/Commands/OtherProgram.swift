import BusSystem
import Glibc

/// Another program of the bus, which a command becomes.
enum OtherProgram {
    /// Becomes the program, with these arguments; returns never.
    static func become(_ program: String, _ arguments: [String]) throws -> CommandStatus {
        let places = WebCommand.places(
            of: program, beside: WebCommand.ownPath(), path: getenv("PATH").map { String(cString: $0) })
        let pointers = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        for place in places where access(place, X_OK) == 0 {
            execv(place, pointers)
            throw CommandFailure(
                .unreachable, "\(place) can't be started: \(systemReason()).")
        }
        throw CommandFailure(
            .unreachable, "There is no \(program) beside this program or in $PATH; install it as well.")
    }
}
