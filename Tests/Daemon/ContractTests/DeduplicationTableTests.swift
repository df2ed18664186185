import BusJSON
import BusMachine
import TestSupport
import Testing

/// The table of keys against a plain model of it.
@Suite("Keys of recent commits") struct DeduplicationTableTests {
    private struct Key: Hashable {
        let identity: Int32
        let text: [UInt8]
    }

    private func machine() -> StateMachine {
        StateMachine(types: [], epoch: "7c1f6a52-9a43-4a7e-8c55-2f0d8e5b1a90", hashSeed: 0x1234_5678)
    }

    private func entry(_ number: Int) -> DeduplicationTable.Entry {
        .init(
            digest: Array("\(number)".utf8).withUnsafeBytes { DeduplicationTable.digest(of: $0) },
            revision: number,
            matched: number % 7, changed: -number)
    }

    /// Keys of all lengths come and go, more than it remembers; some come again.
    @Test func itRemembersTheLatest() {
        var random = SeededGenerator(seed: 11)
        let machine = machine()
        var order: [Key] = []
        var forgotten = 0
        var known: [Key: Int] = [:]
        func key() -> Key {
            // Short ones, such as stand beside their hashes, and the longest.
            let length = random.oneIn(8) ? Int.random(in: 60...128, using: &random) : 14
            return Key(
                identity: Int32.random(in: 0...2, using: &random),
                text: (0..<length).map { _ in UInt8.random(in: 97...122, using: &random) })
        }
        for number in 1...(3 * BusLimits.rememberedKeys) {
            let again = random.oneIn(50) && order.count > forgotten
            let key = again ? order[Int.random(in: forgotten..<order.count, using: &random)] : key()
            remember(key, number, in: machine)
            if known.updateValue(number, forKey: key) == nil {
                order.append(key)
                if order.count - forgotten > BusLimits.rememberedKeys {
                    #expect(machine.keys.forgottenThrough == known[order[forgotten]])
                    known[order[forgotten]] = nil
                    forgotten += 1
                }
            }
            guard number % 16 == 0 else { continue }
            // One that is known, one that was forgotten, and one that never was.
            let place = Int.random(in: order.indices, using: &random)
            for key in [order[place], Key(identity: 3, text: order[place].text), self.other(order[place])] {
                let found = key.text.withUnsafeBytes { machine.keys[machine.keys.id(key.identity, $0)] }
                guard found?.revision == known[key],
                    found.map({ $0.digest == entry($0.revision).digest }) ?? true
                else {
                    Issue.record(
                        "\(key): \(String(describing: found)), not \(String(describing: known[key]))")
                    return
                }
            }
        }
        #expect(machine.keys.count == BusLimits.rememberedKeys)
        var place = forgotten
        machine.keys.forEach { id, entry in
            if Array(id.key) != order[place].text || entry.revision != known[order[place]] {
                Issue.record("The key at place \(place) is another.")
            }
            place += 1
        }
        #expect(place == order.count)
    }

    private func remember(_ key: Key, _ number: Int, in machine: StateMachine) {
        machine.renumber(after: number)
        let entry = entry(number)
        key.text.withUnsafeBytes { text in
            machine.remember(
                KeyedRequest(id: machine.keys.id(key.identity, text), digest: entry.digest),
                matched: entry.matched,
                changed: entry.changed)
        }
    }

    private func other(_ key: Key) -> Key { Key(identity: key.identity, text: key.text + [0]) }

    /// Logs hold digests of requests, so they must never change.
    @Test func digestsAreWhatTheyWere() {
        func mix(_ value: UInt64, _ seed: UInt64) -> UInt64 {
            let product = value.multipliedFullWidth(by: seed ^ 0xa076_1d64_78bd_642f | 1)
            return product.high ^ product.low
        }
        func hash(_ bytes: [UInt8], _ seed: UInt64) -> UInt64 {
            var state = seed
            for start in stride(from: 0, through: bytes.count, by: 8) {
                var word: UInt64 = 0
                for (place, byte) in bytes[start...].prefix(8).enumerated() {
                    word |= UInt64(byte) << (8 * place)
                }
                state = mix(state ^ word, seed)
            }
            return mix(state ^ UInt64(bytes.count), seed)
        }
        var random = SeededGenerator(seed: 5)
        for length in 0..<200 {
            let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            let digest = bytes.withUnsafeBytes { DeduplicationTable.digest(of: $0) }
            #expect(digest.first == hash(bytes, 0x9e37_79b9_7f4a_7c15))
            #expect(digest.second == hash(bytes, 0xd6e8_feb8_6659_fd93))
        }
    }
}
