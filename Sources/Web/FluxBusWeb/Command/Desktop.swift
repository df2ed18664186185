import BusSystem
import Glibc

/// The desktop on which somebody has started this program, in a terminal.
enum Desktop {
    static func isThere(_ environment: [String: String]) -> Bool {
        isatty(STDOUT_FILENO) == 1
            && ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment[$0]?.isEmpty == false }
    }

    /// Opens a link in the user's browser, by `xdg-open`. Every user of the machine can read the command line of a browser, so it
    /// names a page that leads to the link, in a directory that only this user can enter; keep that until the server ends.
    ///
    /// - Parameter failed: Is told why no browser was opened, on any thread.
    static func open(
        _ link: String, _ environment: [String: String], failed: @escaping @Sendable (String) -> Void
    ) -> PrivateDirectory? {
        let places = (environment["PATH"] ?? "").split(separator: ":").map { "\($0)/xdg-open" }
        guard let opener = places.first(where: { $0.hasPrefix("/") && access($0, X_OK) == 0 }) else {
            failed("there is no xdg-open in $PATH")
            return nil
        }
        do throws(SystemError) {
            let directory = try PrivateDirectory(in: InnerSocket.parent(environment), prefix: "fluxbus-web")
            let page = try directory.write(
                "open.html",
                #"""
                <!DOCTYPE html><meta charset="utf-8"><title>FluxBus</title>
                <meta http-equiv="refresh" content="0;url=\#(link)">
                <a href="\#(link)">Open the bus</a>

                """#)
            let nothing = Spawning.Stream.file("/dev/null", flags: O_RDWR)
            let process = try Spawning.start(
                [opener, page], variables: [], inherits: { _ in true },
                streams: [STDIN_FILENO: nothing, STDOUT_FILENO: nothing, STDERR_FILENO: nothing],
                leadsGroup: true, hasDefaultSignals: true)
            try SystemThread.start(named: "browser") {
                var status: Int32 = 0
                while waitpid(process, &status, 0) < 0, errno == EINTR {}
                if status != 0 { failed("xdg-open found none") }
            }
            return directory
        } catch {
            failed(error.reason)
            return nil
        }
    }
}
