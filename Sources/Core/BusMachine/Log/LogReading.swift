import BusLogic

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The reader of the log's entries, and the principals and types that it knows.
final class LogReading {
    let entries = EntryReader()
    @exclusivity(unchecked) var principals = KnownPrincipals()
    /// Types that need not be compiled from their definitions.
    var types: [any StateType] = []
    /// From which revision on types are known that are not known yet, and what leaves them out.
    var forgotten: [String: Int] = [:] {
        didSet { thinning = forgotten.isEmpty ? nil : Thinning(forgotten.keys) }
    }
    private(set) var thinning: Thinning?
    /// How many entries were applied without making values of them.
    @exclusivity(unchecked) private(set) var inPlace = 0

    func noteInPlace() { inPlace &+= 1 }
}

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

    private static func place(of by: UnsafeRawBufferPointer) -> Int { ByteHash.hash(by) & 63 }
}
