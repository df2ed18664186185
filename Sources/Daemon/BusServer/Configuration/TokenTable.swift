import BusMachine
import BusSource

/// The tokens that TCP clients send in `hello`, and the names they stand for.
///
/// Each line of the file is a NAME and a TOKEN, separated by spaces or tabs. Empty lines and those that start with `#` are
/// skipped. The file must belong to root or to the daemon's user, and nobody else may read or write it. Tokens are compared
/// in constant time: the duration does not reveal how much of a guess was right.
package struct TokenTable: Sendable {
    private struct Entry: Sendable {
        let name: String
        let token: [UInt8]
    }

    private var entries: [Entry] = []

    /// The longest token: a line of the wire has room for many times as much.
    private static let longestToken = 1024
    /// The shortest token: trying a thousand a second for a year does not find a random one of this length.
    private static let shortestToken = 16
    private static let longestName = 128

    package var names: [String] { entries.map(\.name) }

    /// The name that a token stands for; nil if the token is unknown. Every entry is compared to its last byte.
    package func name(for token: String) -> String? {
        let shown = Array(token.utf8)
        var found: String?
        for entry in entries where Self.equal(entry.token, shown) { found = entry.name }
        return found
    }

    /// A digest of the token that stands for a name, which is never 0; nil if there is none.
    package func digest(of name: String) -> Int? {
        entries.first { $0.name == name }.map { entry in
            let digest = entry.token.withUnsafeBytes { DeduplicationTable.digest(of: $0) }
            return Int(truncatingIfNeeded: digest.first | 1)
        }
    }

    /// Takes equally long wherever they differ.
    static func equal(_ known: [UInt8], _ shown: [UInt8]) -> Bool {
        var difference = known.count ^ shown.count
        for index in known.indices {
            let byte = index < shown.count ? shown[index] : 0
            difference |= Int(known[index] ^ byte)
        }
        return difference == 0
    }

    // MARK: - Reading

    /// Reads the file; adds errors to `errors`.
    static func read(_ path: Located<String>, _ errors: inout ConfigurationErrors) -> TokenTable {
        var table = TokenTable()
        let before = errors.errors.count
        let bytes = errors.collect { () throws(SourceError) in
            try FileBytes.read(path, what: "the token file", accept: FileBytes.refusalOfSecret)
        }
        guard let bytes else { return table }
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            _ = errors.collect { () throws(SourceError) in
                try table.add(line, file: path.value, line: index + 1)
            }
        }
        if table.entries.isEmpty, errors.errors.count == before {
            errors.add(
                "There is no token in it; add a line NAME TOKEN.",
                at: Place(file: path.value, line: 1, column: 1))
        }
        return table
    }

    private mutating func add(_ line: ArraySlice<UInt8>, file: String, line number: Int) throws(SourceError) {
        func failure(_ message: String, _ offset: Int) -> SourceError {
            SourceError(message, at: Place(file: file, line: number, column: offset - line.startIndex + 1))
        }
        let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        let words = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        guard let first = words.first, first.first != UInt8(ascii: "#") else { return }
        guard words.count == 2 else {
            // The line may hold a secret: it is not shown.
            throw failure(
                "A line has a NAME and a TOKEN, separated by a space; this one has \(words.count) words.",
                first.startIndex)
        }
        let (name, token) = (words[0], words[1])
        guard name.count <= Self.longestName, name.allSatisfy(Self.isNameByte) else {
            throw failure(
                "A name has only letters, digits and _ - . : @, at most \(Self.longestName) of them.",
                name.startIndex)
        }
        guard token.count <= Self.longestToken, token.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw failure(
                "A token has only printable ASCII characters, at most \(Self.longestToken) of them.",
                token.startIndex)
        }
        guard token.count >= Self.shortestToken else {
            throw failure(
                "A token has at least \(Self.shortestToken) characters, or it could be guessed; "
                    + "`systemd-id128 new` makes a good one.", token.startIndex)
        }
        let entry = Entry(name: String(decoding: name, as: UTF8.self), token: Array(token))
        if entries.contains(where: { $0.name == entry.name }) {
            throw failure(
                "duplicate name `\(entry.name)`; give each client its own.", name.startIndex)
        }
        if let other = entries.first(where: { $0.token == entry.token }) {
            throw failure(
                "\(entry.name) has the token of \(other.name); give each its own.", token.startIndex)
        }
        entries.append(entry)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: ":"), UInt8(ascii: "@"):
            true
        default: false
        }
    }
}
