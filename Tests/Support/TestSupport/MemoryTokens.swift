/// The tokens that a `MemoryBus` knows, as the file of tokens has them.
package final class MemoryTokens {
    /// The names that they stand for.
    package var names: [String: String]

    init(_ names: [String: String]) { self.names = names }

    func digest(of name: String) -> Int? { names.first { $0.value == name }.map { $0.key.hashValue | 1 } }
}
