#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Principals by what the log says of them, so that those who dispatch much are not read again for each of their commits.
struct KnownPrincipals {
    private struct Slot {
        var by: [UInt8] = []
        var principal: Principal?
    }

    /// One for each hash: whoever comes takes the place of who was there.
    private var slots = [Slot](repeating: Slot(), count: 64)

    /// The principal whom the same bytes named before; nil for any other.
    subscript(by: UnsafeRawBufferPointer) -> Principal? {
        get {
            let place = Self.place(of: by)
            let isSame = slots[place].by.withUnsafeBytes { known in
                known.count == by.count && memcmp(known.baseAddress!, by.baseAddress!, by.count) == 0
            }
            return isSame ? slots[place].principal : nil
        }
        set { slots[Self.place(of: by)] = Slot(by: Array(by), principal: newValue) }
    }

    private static func place(of by: UnsafeRawBufferPointer) -> Int {
        var state = UInt64(truncatingIfNeeded: by.count)
        var place = 0
        while place &+ 8 <= by.count {
            state = ByteHash.mix(
                state ^ by.loadUnaligned(fromByteOffset: place, as: UInt64.self), 0x9e37_79b9_7f4a_7c15)
            place &+= 8
        }
        return Int(
            truncatingIfNeeded: ByteHash.mix(
                state ^ ByteHash.tail(of: by, from: place), 0x9e37_79b9_7f4a_7c15) & 63)
    }
}
