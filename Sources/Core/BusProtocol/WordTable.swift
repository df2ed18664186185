import BusJSON

/// Finds values by words that are known from the beginning, such as the first bytes of names: one multiplication tells where
/// in a small table a word would stand.
///
/// `@unchecked Sendable`: it is written while it is made, and only read from then on.
final class WordTable<Value: Sendable>: @unchecked Sendable {
    private struct Slot {
        let word: UInt64
        let value: Value?
    }

    private let slots: UnsafeMutablePointer<Slot>
    private let count: Int
    private let factor: UInt64
    private let shift: UInt64

    /// Takes words, none of them 0 and all different, with their values.
    init(_ entries: [(word: UInt64, value: Value)]) {
        precondition(
            Set(entries.map(\.word)).count == entries.count, "Words of a table differ from each other.")
        // With so much room, one factor in a few will do.
        var bits: UInt64 = 1
        while 1 << bits < 8 * entries.count { bits += 1 }
        let shift = 64 - bits
        // Of the odd factors tried one after the other, the first that gives each word a slot of its own.
        var factor: UInt64 = 0x9e37_79b9_7f4a_7c15
        while Set(entries.map { ($0.word &* factor) >> shift }).count < entries.count {
            factor = factor &* 0xd134_2543_de82_ef95 | 1
        }
        (self.factor, self.shift) = (factor, shift)
        slots = .allocate(capacity: 1 << Int(bits))
        count = 1 << Int(bits)
        slots.initialize(repeating: Slot(word: 0, value: nil), count: count)
        for (word, value) in entries {
            slots[Int(truncatingIfNeeded: (word &* factor) >> shift)] = Slot(word: word, value: value)
        }
    }

    deinit {
        slots.deinitialize(count: count)
        slots.deallocate()
    }

    /// The value of a word other than 0.
    @inline(__always)
    func value(of word: UInt64) -> Value? {
        let slot = slots + Int(truncatingIfNeeded: (word &* factor) &>> shift)
        return slot.pointee.word == word ? slot.pointee.value : nil
    }
}

extension WordTable {
    /// The first eight bytes of a name as a word, the first lowest, with zeros behind the last.
    @inline(__always)
    static func word(_ name: UnsafeRawBufferPointer) -> UInt64 {
        if name.count >= 8 { return name.loadUnaligned(as: UInt64.self) }
        var word: UInt64 = 0
        for (place, byte) in name.enumerated() {
            word |= UInt64(byte) &<< UInt64(truncatingIfNeeded: place &<< 3)
        }
        return word
    }

    static func word(_ name: String) -> UInt64 { name.utf8Span.span.withUnsafeBytes { word($0) } }
}
