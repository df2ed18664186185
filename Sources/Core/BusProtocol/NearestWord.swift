/// Finds the valid word that was probably meant by an invalid one.

/// The valid word with the fewest slips of the pen from `word`, or else one that it abbreviates; nil when none
/// is near enough to be meant. Of several equally near ones the first counts.
package func nearestWord(to word: String, among words: [String]) -> String? {
    // Only its beginning is looked at, however long it is.
    let word = String(String.UnicodeScalarView(word.unicodeScalars.prefix(longestCompared))).lowercased()
    let typed = Array(word.unicodeScalars.prefix(longestCompared))
    let bound = max(1, (typed.count + 1) / 3)
    var nearest: String?
    var least = bound + 1
    for candidate in words {
        let letters = Array(
            String(String.UnicodeScalarView(candidate.unicodeScalars.prefix(longestCompared))).lowercased()
                .unicodeScalars.prefix(longestCompared))
        guard abs(letters.count - typed.count) < least else { continue }
        let slips = editDistance(typed, letters)
        if slips < least && slips < max(typed.count, letters.count) {
            least = slips
            nearest = candidate
        }
    }
    if nearest == nil, typed.count >= shortestAbbreviation {
        nearest = words.first { $0.lowercased().hasPrefix(word) }
    }
    return nearest
}

/// The end of a sentence about a word that is not valid: what was probably meant, or else all that is valid.
package func suggestion(for word: String, among words: [String]) -> String {
    let synonym = synonyms[word.lowercased()]?.first(where: words.contains)
    if let nearest = nearestWord(to: word, among: words) ?? synonym { return "did you mean `\(nearest)`?" }
    if words.isEmpty { return "none is valid here." }
    return "valid here: \(words.map { "`\($0)`" }.joined(separator: ", "))."
}

/// What other languages call what is called otherwise here.
private let synonyms: [String: [String]] = [
    "list": ["array"], "seq": ["array"], "sequence": ["array"], "tuple": ["array"], "float": ["number"],
    "double": ["number"],
    "decimal": ["number"], "real": ["number"], "str": ["string"], "text": ["string"], "char": ["string"],
    "dict": ["object"],
    "map": ["object"], "hash": ["object"], "struct": ["object"], "record": ["object"], "int": ["integer"],
    "long": ["integer"], "bool": ["boolean"], "flag": ["boolean"], "mixed": ["any"], "json": ["any"],
    "description": ["summary"], "title": ["summary"], "doc": ["summary"], "comment": ["summary"],
    "help": ["summary"],
    "min": ["minimum"], "max": ["maximum"], "ge": ["minimum"], "le": ["maximum"], "maxlen": ["maxLength"],
    "choices": ["enum"], "oneof": ["enum"], "fields": ["properties", "state"],
    "members": ["properties", "state"],
    "additionalproperties": ["values"], "null": ["nullable"], "name": ["type", "user"], "id": ["type"],
    "uses": ["waitFor"],
    "methods": ["actions"], "reducers": ["actions"], "mutations": ["actions"], "commands": ["actions"],
    "events": ["actions"],
    "getters": ["computed"], "derived": ["computed"], "defaults": ["initial"], "args": ["payload"],
    "params": ["payload"],
    "parameters": ["payload"], "arguments": ["payload"], "input": ["payload"], "guard": ["when"],
    "condition": ["when", "if"],
    "secret": ["redact"], "sensitive": ["redact"], "mask": ["redact"], "assert": ["require"],
    "validate": ["require"], "check": ["require"], "update": ["set"],
    "assign": ["set"],
    "delete": ["unset"], "push": ["append"], "add": ["append", "increment"], "concat": ["append", "cat"],
    "decrement": ["increment"], "message": ["else"], "reason": ["else"], "error": ["else", "rejected"],
    "delay": ["in", "after"], "wait": ["after"], "sum": ["+"], "equals": ["=="], "eq": ["=="], "not": ["!"],
    "len": ["length"],
    "setup": ["given"], "when": ["dispatch"], "then": ["state"], "expect": ["state"], "expects": ["state"],
    "do": ["dispatch"],
    "result": ["returns"], "expected": ["state"], "before": ["given"], "after": ["state"],
    "fails": ["rejected"],
]

/// Fewer letters begin too many words.
private let shortestAbbreviation = 3

/// Longer words are compared by their beginnings only, so that a file can't make the comparison slow.
private let longestCompared = 64

/// How many letters have to be added, removed, replaced or swapped with their neighbour.
private func editDistance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
    var before: [Int] = []
    var previous = Array(0...right.count)
    for (row, letter) in left.enumerated() {
        var current = [row + 1]
        current.reserveCapacity(right.count + 1)
        for (column, other) in right.enumerated() {
            var least = min(previous[column + 1] + 1, current[column] + 1)
            least = min(least, previous[column] + (letter == other ? 0 : 1))
            if row > 0, column > 0, letter == right[column - 1], left[row - 1] == other {
                least = min(least, before[column - 1] + 1)
            }
            current.append(least)
        }
        before = previous
        previous = current
    }
    return previous[right.count]
}
