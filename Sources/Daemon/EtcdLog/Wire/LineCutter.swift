/// Cuts what comes in pieces into lines.
package struct LineCutter {
    private var held: [UInt8] = []
    private let limit: Int

    /// - Parameter limit: The longest line, in bytes.
    package init(limit: Int) { self.limit = limit }

    /// Gives the lines that are complete now; nil when one is longer than allowed.
    package mutating func take(_ bytes: UnsafeRawBufferPointer) -> [[UInt8]]? {
        var lines: [[UInt8]] = []
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            held += rest[..<end]
            rest = rest[(end + 1)...]
            guard held.count <= limit else { return nil }
            if !held.isEmpty { lines.append(held) }
            held = []
        }
        guard held.count + rest.count <= limit else { return nil }
        held += rest
        return lines
    }
}
