/// What this program is called, for its help and its messages: a custom daemon is known by its own name.
enum ProgramName {
    static let text: String = {
        let path = CommandLine.arguments.first ?? ""
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        return name.isEmpty ? standard : name
    }()

    /// What it is called when nobody says otherwise.
    static let standard = "fluxbusd"
}
