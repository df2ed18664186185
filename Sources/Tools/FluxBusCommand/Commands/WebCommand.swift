import ArgumentParser
import BusSystem
import FluxBus
import Glibc

/// `fluxbus web`: becomes `fluxbus-web`, which is a separate program because most users of this one need no web server.
package struct WebCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "web",
        abstract: "Show the bus in a browser: becomes fluxbus-web, and prints or opens the address.",
        discussion: """
            Examples:
              fluxbus web --listen :0                     on any free port

            What follows is for fluxbus-web, whose options `fluxbus web --help` shows. It listens on 127.0.0.1:7480 \
            unless told otherwise, and ends with Ctrl-C.
            """)

    @Argument(
        parsing: .postTerminator, help: ArgumentHelp("Options of fluxbus-web.", valueName: "option"))
    package var arguments: [String] = []

    @OptionGroup package var options: GlobalOptions
    package var isOpenEnded: Bool { true }

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        try OtherProgram.become("fluxbus-web", passed)
    }

    /// What `fluxbus-web` is given: the options before the command that both programs have, then the arguments after it.
    package var passed: [String] {
        let given: [(String, String?)] = [
            ("--address", options.address.first), ("--token-file", options.tokenFile), ("--ca", options.ca),
            ("--certificate", options.certificate), ("--certificate-key", options.key),
        ]
        return given.flatMap { option, value in value.map { [option, $0] } ?? [] } + arguments
    }

    /// Where a program may be: beside this one, then in the folders of `path`.
    package static func places(of program: String, beside own: String?, path: String?) -> [String] {
        let folder = own.flatMap { own in own.lastIndex(of: "/").map { String(own[..<$0]) } }
        // An empty or relative name in the path stands for a place in the working directory, which anybody may have filled.
        let others = (path ?? "").split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
        return ([folder].compactMap { $0 } + others).map { "\($0)/\(program)" }
    }

    static func ownPath() -> String? {
        var link = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &link, link.count)
        guard count > 0, count < link.count else { return nil }
        return String(decoding: link[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
