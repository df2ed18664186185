import BusJSON

/// The selected stores, as written on a command line: `counter/kitchen` is one store, `counter` every store of a type,
/// and anything with `*` or `?` a pattern over addresses.
package enum StoreSelector: Equatable, Sendable {
    case store(String)
    case type(String)
    case match(String)

    package init(_ text: String) {
        let isPattern = text.contains("*") || text.contains("?")
        let hasSlash = text.contains("/")
        self =
            switch (isPattern, hasSlash) {
            case (false, false): .type(text)
            case (false, true): .store(text)
            // A pattern needs exactly one slash; without one it means types.
            case (true, false): .match(text + "/*")
            case (true, true): .match(text)
            }
    }

    /// The member of a `get` or `subscribe` for it.
    package var member: (name: String, value: JSON) {
        switch self {
        case .store(let text): ("store", .string(text))
        case .type(let text): ("type", .string(text))
        case .match(let text): ("match", .string(text))
        }
    }

    /// The same as a pattern, for ops that accept nothing else.
    package var pattern: String {
        switch self {
        case .store(let text), .match(let text): text
        case .type(let text): text + "/*"
        }
    }
}
