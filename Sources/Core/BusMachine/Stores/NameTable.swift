import BusJSON
import BusProtocol

/// Finds a name among those of types or actions, by one hash of its bytes and, as a rule, one comparison.
///
/// Names come from definitions, not from clients, so nobody chooses them to collide.
struct NameTable: ~Copyable {
    private struct Slot {
        let name: String
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
        slots.initialize(repeating: Slot(name: "", number: -1))
        for (name, number) in names {
            var place = name.utf8Span.span.withUnsafeBytes { Self.hash($0) } & mask
            while slots[place].number >= 0 { place = (place + 1) & mask }
            slots[place] = Slot(name: name, number: number)
        }
    }

    deinit {
        slots.deinitialize()
        slots.deallocate()
    }

    /// What a name stands for; nil: there is no such name.
    @inline(__always)
    func number(of name: UnsafeRawBufferPointer) -> Int32? {
        let slots = slots.baseAddress!
        var place = Self.hash(name) & mask
        while slots[place].number >= 0 {
            if slots[place].name.hasBytes(name) { return slots[place].number }
            place = (place &+ 1) & mask
        }
        return nil
    }

    @inline(__always)
    private static func hash(_ name: UnsafeRawBufferPointer) -> Int {
        var state = UInt64(truncatingIfNeeded: name.count)
        var place = 0
        while place &+ 8 <= name.count {
            state = mix(state ^ name.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            place &+= 8
        }
        return Int(truncatingIfNeeded: mix(state ^ ByteHash.tail(of: name, from: place)))
    }

    @inline(__always)
    private static func mix(_ value: UInt64) -> UInt64 { ByteHash.mix(value, 0x9e37_79b9_7f4a_7c15) }
}
