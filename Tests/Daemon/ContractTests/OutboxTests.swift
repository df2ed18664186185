import BusEngine
import BusJSON
import Testing

/// What waits for a slow reader.
struct OutboxTests {
    private final class Weak {
        weak var writer: ByteWriter?
        init(_ writer: ByteWriter) { self.writer = writer }
    }

    /// A reader that always has something waiting holds what is not sent yet, and none of what is.
    @Test func whatIsSentIsNotHeld() {
        let pool = BufferPool()
        var outbox = Outbox()
        let length = 100_000
        var written: [Weak] = []
        for _ in 0..<40 {
            outbox.begin(pool)._withUnsafeGuaranteedRef { writer in
                for _ in 0..<length { writer.append(UInt8(ascii: "x")) }
                written.append(Weak(writer))
            }
            outbox.finish(length)
            // Half of one stays.
            outbox.sent(outbox.count - length / 2, pool)
            #expect(outbox.count == length / 2)
            #expect(written.filter { $0.writer != nil }.count <= 2)
        }
    }
}
