/// The bus's errors in the words of a command line: they speak of operations and members of the protocol, and who typed a
/// command knows commands and flags.
enum CommandWords {
    /// What a sentence of the bus says about an operation, and the command that stands for it.
    private static let commands: [(protocol: String, command: String)] = [
        (
            "; create it, or list what there is with stores.",
            "; make it with `fluxbus create`, or list what there is with `fluxbus ls`."
        ),
        ("; use it, or say `ifMissing`.", "; use it, or add --if-missing."),
        ("; see what there is with types.", "; `fluxbus types` lists what there is."),
        ("; types lists them.", "; `fluxbus types` lists them."),
        ("; list those there are with clients.", "; `fluxbus clients` lists those there are."),
        ("; configure log: for one.", "; `log:` in its configuration makes it keep one."),
    ]

    /// Members that a flag gives.
    private static let flags = [
        "after": "--after", "at": "--at", "epoch": "--epoch", "ifMissing": "--if-missing",
        "ifRevision": "--if-revision", "in": "--in", "key": "--key", "reason": "--reason",
        "select": "--select", "since": "--since", "timer": "--timer", "ttl": "--ttl",
    ]

    static func sentence(_ message: String) -> String {
        var text = message
        for (words, command) in commands where text.hasSuffix(words) {
            text = String(text.dropLast(words.count)) + command
        }
        // Behind that stand names of the type, the file or the store, such as a payload's member `key`.
        let end = text.firstRange(of: #/; (did you mean|valid here:) /#)?.lowerBound ?? text.endIndex
        let sentence = String(text[..<end]).replacing(/`([A-Za-z]+)`/) { match in
            flags[String(match.1)] ?? String(match.0)
        }
        return sentence + text[end...]
    }
}
