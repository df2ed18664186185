/// A figure of memory as it is kept from one change to the next, and as it is when it is counted from nothing.
struct MemoryCount {
    let name: String
    let kept: Int
    let counted: Int

    init(_ name: String, _ kept: Int, _ counted: Int) {
        (self.name, self.kept, self.counted) = (name, kept, counted)
    }

    var isRight: Bool { kept == counted && kept >= 0 }
}
