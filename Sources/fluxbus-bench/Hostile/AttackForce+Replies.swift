extension AttackForce.Tally {
    private static let reply = Array(#""ok":"#.utf8)
    private static let refusal = Array(#""ok":false"#.utf8)
    /// How far into what came is looked, and how much is shown of what is found.
    private static let looked = 512
    private static let shown = 160

    /// Looks whether there is a reply near the beginning of what came, and whether it refuses something.
    mutating func look(at bytes: UnsafeRawBufferPointer) {
        let start = bytes.prefix(Self.looked)
        guard Self.contains(start, Self.reply) else { return }
        replies += 1
        guard Self.contains(start, Self.refusal) else { return }
        refusals += 1
        if firstRefusal == nil { firstRefusal = String(decoding: start.prefix(Self.shown), as: UTF8.self) }
    }

    private static func contains(_ bytes: Slice<UnsafeRawBufferPointer>, _ mark: [UInt8]) -> Bool {
        bytes.indices.contains { bytes[$0...].starts(with: mark) }
    }
}
