/// The version of all that is released together: programs, clients, packages. `deploy/release --set` changes it everywhere.
package enum Version {
    package static let text = "0.2.0"
    /// The number of the protocol, as both ends say it in `hello`.
    package static let ofProtocol = 1

    /// The commit of a release: `git archive` writes it here, as `.gitattributes` says. A work tree has none.
    private static let archived = "$Format:%H$"

    /// What `--version` prints.
    ///
    /// - Parameter logForm: The form of the logs that the program reads and writes; nil: it has to do with none.
    package static func line(of program: String, logForm: Int? = nil) -> String {
        let commit = archived.hasPrefix("$") ? "work tree" : "commit \(archived.prefix(12))"
        let form = logForm.map { ", log form \($0)" } ?? ""
        return "\(program) \(text) (\(commit), protocol \(ofProtocol)\(form))"
    }
}
