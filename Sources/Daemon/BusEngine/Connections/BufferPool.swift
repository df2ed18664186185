import BusJSON
import BusState

/// Runs of bytes that are free for the next writer: so bytes are written into memory that is allocated and warm, and
/// an idle connection holds none.
package final class BufferPool {
    /// What is kept in all; more is returned to the system.
    private static let most = 16 << 20
    /// The longest run kept: a burst of the usual size. A slow reader may hold a whole one for few bytes.
    private static let longest = 32 << 10

    package init() {}

    /// A placeholder where a run has been removed.
    let nothing = ByteWriter(capacity: 0)
    private let spares = Stack<ByteWriter>()
    /// Runs of full size, for readers that have one full run waiting already.
    private let longSpares = Stack<ByteWriter>()
    @exclusivity(unchecked) private var held = 0

    private static let longCapacity = Outbox.runSize + 4096

    func take() -> ByteWriter {
        guard let spare = spares.popLast() else { return ByteWriter(capacity: 1024) }
        held -= spare.reserved
        return spare
    }

    func takeLong() -> ByteWriter {
        guard let spare = longSpares.popLast() else { return ByteWriter(capacity: Self.longCapacity) }
        held -= spare.reserved
        return spare
    }

    /// Recycles a run that nothing else holds.
    func recycle(_ writer: consuming ByteWriter) {
        let isLong = writer.reserved == Self.longCapacity
        guard isLong || writer.reserved <= Self.longest, held + writer.reserved <= Self.most else { return }
        writer.clear()
        held += writer.reserved
        if isLong { longSpares.append(writer) } else { spares.append(writer) }
    }
}
