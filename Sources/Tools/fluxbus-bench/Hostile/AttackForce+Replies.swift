extension AttackForce.Tally {
    private static let reply = Array(#""ok":"#.utf8)
    private static let refusal = Array(#""ok":false"#.utf8)
    /// How much of the received bytes is searched, and how much of a match is shown.
    private static let looked = 512
    private static let shown = 160

    /// Searches the beginning of the received bytes for a reply, and checks whether it is a refusal.
    mutating func look(at bytes: UnsafeRawBufferPointer) {
        let start = bytes.prefix(Self.looked)
        guard Self.place(of: Self.reply, in: start) != nil else { return }
        replies += 1
        guard let place = Self.place(of: Self.refusal, in: start) else { return }
        refusals += 1
        if firstRefusal == nil {
            let line = start[place...].prefix { $0 != UInt8(ascii: "\n") }
            firstRefusal = String(decoding: line.prefix(Self.shown), as: UTF8.self)
        }
    }

    private static func place(of mark: [UInt8], in bytes: Slice<UnsafeRawBufferPointer>) -> Int? {
        bytes.indices.first { bytes[$0...].starts(with: mark) }
    }
}
