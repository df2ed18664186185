/// The stores that a request names: a glob for the type and one for the name.
package struct AddressPattern: Sendable, Hashable {
    package let type: Glob
    package let name: Glob

    /// As it is written: `type/name`.
    package var text: String {
        String(decoding: type.pattern + [UInt8(ascii: "/")] + name.pattern, as: UTF8.self)
    }

    /// All stores of one type.
    package init(type: String) {
        self.type = Glob(Array(type.utf8))
        name = Glob([UInt8(ascii: "*")])
    }

    /// Parses `type/name` with wildcards; nil unless there is exactly one slash, with something on both sides.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count <= Names.longestType + 1 + Names.longestStore else { return nil }
        let halves = bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard halves.count == 2, !halves[0].isEmpty, !halves[1].isEmpty,
            halves[0].count <= Names.longestType, halves[1].count <= Names.longestStore
        else { return nil }
        type = Glob(Array(halves[0]))
        name = Glob(Array(halves[1]))
    }
}
