import BusProtocol

/// The keys of recent commits, so that a request that is sent again is recognised and answered as before.
struct KeyMemory {
    struct ID: Hashable {
        let identity: Int32
        let key: [UInt8]
    }

    /// What is remembered of a keyed commit.
    struct Entry {
        /// Tells whether another request with the key is the same.
        let digest: Digest
        let revision: Int
        let matched: Int
        let changed: Int
    }

    struct Digest: Equatable {
        let first: UInt64
        let second: UInt64
    }

    private var entries: [ID: Entry] = [:]
    private var order: [ID] = []
    private var oldest = 0

    /// Keyed commits up to this revision may have been forgotten.
    var forgottenThrough = 0

    var count: Int { entries.count }

    subscript(id: ID) -> Entry? { entries[id] }

    mutating func remember(_ entry: Entry, as id: ID) {
        entries[id] = entry
        order.append(id)
        if order.count - oldest > Limits.rememberedKeys {
            if let forgotten = entries.removeValue(forKey: order[oldest]) {
                forgottenThrough = forgotten.revision
            }
            oldest += 1
            if oldest > Limits.rememberedKeys {
                order.removeFirst(oldest)
                oldest = 0
            }
        }
    }

    /// All that is remembered, oldest first.
    func forEach(_ body: (ID, Entry) -> Void) {
        for id in order[oldest...] {
            if let entry = entries[id] { body(id, entry) }
        }
    }

    /// Two independent 64-bit hashes of the request's meaning.
    static func digest(of bytes: UnsafeRawBufferPointer) -> Digest {
        var first: UInt64 = 0xcbf2_9ce4_8422_2325
        var second: UInt64 = 0x9e37_79b9_7f4a_7c15
        for byte in bytes {
            first = (first ^ UInt64(byte)) &* 0x100_0000_01b3
            second = (second &+ UInt64(byte) &+ 1) &* 0xd6e8_feb8_6659_fd93
            second ^= second >> 32
        }
        return Digest(first: first, second: second)
    }
}
