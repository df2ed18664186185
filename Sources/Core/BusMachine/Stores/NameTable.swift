import BusJSON
import BusProtocol

/// Finds a name among those of types or actions, by one hash of its bytes and, as a rule, one comparison.
///
/// Names come from definitions, not from clients, so nobody chooses them to collide.
struct NameTable: ~Copyable {
    private struct Slot {
        let name: String
        /// The name as words, if it is short.
        let small: SmallText?
        /// What the name stands for; -1: the slot is free.
        let number: Int32
    }

    private let slots: UnsafeMutableBufferPointer<Slot>
    private var mask: Int { slots.count &- 1 }

    /// Takes names, all different, with what each stands for.
    init(_ names: [(name: String, number: Int32)]) {
        var size = 2
        while size < 2 * names.count { size *= 2 }
        slots = .allocate(capacity: size)
        slots.initialize(repeating: Slot(name: "", small: nil, number: -1))
        for (name, number) in names {
            let (hash, small) = name.utf8Span.span.withUnsafeBytes { name in
                let small = Self.small(name)
                return (small.map(Self.hash) ?? Self.hash(name), small)
            }
            var place = hash & mask
            while slots[place].number >= 0 { place = (place + 1) & mask }
            slots[place] = Slot(name: name, small: small, number: number)
        }
    }

    deinit {
        slots.deinitialize()
        slots.deallocate()
    }

    /// What a name stands for; nil: there is no such name.
    @inline(__always)
    func number(of name: UnsafeRawBufferPointer) -> Int32? {
        guard let small = Self.small(name) else { return number(ofLong: name) }
        let slots = slots.baseAddress!
        var place = Self.hash(small) & mask
        while slots[place].number >= 0 {
            if slots[place].small == small { return slots[place].number }
            place = (place &+ 1) & mask
        }
        return nil
    }

    @inline(never)
    private func number(ofLong name: UnsafeRawBufferPointer) -> Int32? {
        var place = Self.hash(name) & mask
        while slots[place].number >= 0 {
            if slots[place].name.hasBytes(name) { return slots[place].number }
            place = (place &+ 1) & mask
        }
        return nil
    }

    @inline(__always)
    private static func small(_ name: UnsafeRawBufferPointer) -> SmallText? {
        name.count <= SmallText.longest ? SmallText(ascii: name) : nil
    }

    @inline(__always)
    private static func hash(_ name: SmallText) -> Int {
        Int(
            truncatingIfNeeded: ByteHash.mix(
                name.low ^ 0x9e37_79b9_7f4a_7c15, name.high ^ 0xd134_2543_de82_ef95))
    }

    private static func hash(_ name: UnsafeRawBufferPointer) -> Int { ByteHash.hash(name) }
}
