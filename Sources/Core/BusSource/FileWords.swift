import BusProtocol

/// How the commonest mistakes in files are worded, in one place: what is wrong, with the word as it was written in backquotes,
/// then what was probably meant.
package enum FileWords {
    /// "unknown key `actoins` in state type; did you mean `actions`?" `owner` is what the object describes: "a state type".
    package static func unknownKey(_ key: String, in owner: String, among valid: [String]) -> String {
        let parts = key.split(separator: ":", maxSplits: 1)
        if parts.count == 2, valid.contains(String(parts[0])) {
            return "A space belongs behind the colon; write \(parts[0]): \(parts[1])."
        }
        return "unknown key `\(key)` in \(withoutArticle(owner)); \(suggestion(for: key, among: valid))"
    }

    /// "invalid value `allways` for `sync`; did you mean `always`?"
    package static func invalidValue(_ text: String, for name: String, among valid: [String]) -> String {
        "invalid value `\(text)` for `\(name)`; \(suggestion(for: text, among: valid))"
    }

    /// "duplicate key `sync`; keep one of them."
    package static func duplicate(_ kind: String, _ text: String) -> String {
        "duplicate \(kind) `\(text)`; keep one of them."
    }

    private static func withoutArticle(_ owner: String) -> Substring {
        for article in ["a ", "an ", "the "] where owner.hasPrefix(article) {
            return owner.dropFirst(article.count)
        }
        return owner[...]
    }
}
