import BusMap
import BusSystem
import CMap
import Dispatch
import Glibc
import Synchronization
import TestSupport
import Testing

/// Readers beside a writer, writers that die, and files that say what no writer writes.
@Suite(.timeLimit(.minutes(10))) struct MapRaceTests {
    private static let name = Array("kitchen".utf8)

    /// States that tell their revision by their length and by each of their bytes; made before, as writers are quick.
    private static let states = (0..<241).map { revision in
        (0..<(1 + revision * 16)).map { UInt8(truncatingIfNeeded: revision &* 31 &+ $0) }
    }

    private static func state(_ revision: UInt64) -> [UInt8] { states[Int(revision % 241)] }

    private static func publish(_ revision: UInt64, by writer: MapWriter) throws {
        try state(revision).withUnsafeBytes { state in
            try name.withUnsafeBytes { try writer.publish(state, of: $0, revision: revision) }
        }
    }

    private static func read(_ view: fluxbus_map_view) -> (MapAnswer, [UInt8]) {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let answer = buffer.withUnsafeMutableBytes { buffer in
            name.withUnsafeBytes { MapReader.read($0, in: view, into: buffer) }
        }
        if case .state(let length, _) = answer { return (answer, Array(buffer[..<length])) }
        return (answer, [])
    }

    /// A copy of the file of a map, in memory of this process.
    private static func bytes(of writer: MapWriter) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: writer.size) { buffer, count in
            count = pread(writer.descriptor, buffer.baseAddress, buffer.count, 0)
        }
    }

    /// Publishes one revision after the other until it is told to stop, on a thread of its own.
    private final class Writing: Sendable {
        private let stopped = Atomic(false)
        private let ended = DispatchSemaphore(value: 0)

        init(_ writer: MapWriter) throws {
            // Only this thread uses the writer until it has ended.
            nonisolated(unsafe) let writer = writer
            try SystemThread.start(named: "map writer") {
                var revision: UInt64 = 1
                while !self.stopped.load(ordering: .relaxed) {
                    revision += 1
                    try? MapRaceTests.publish(revision, by: writer)
                }
                self.ended.signal()
            }
        }

        func stop() {
            stopped.store(true, ordering: .relaxed)
            ended.wait()
        }
    }

    /// `FLUXBUS_MAP_READS` makes it longer.
    @Test func readersSeeNoTornOrBackwardState() throws {
        let most = getenv("FLUXBUS_MAP_READS").flatMap { Int(String(cString: $0)) } ?? 500_000
        let writer = try MapWriter(named: "counter", stores: 1, blocks: 512)
        let reader = try MapReader(writer.descriptor)
        try Self.publish(1, by: writer)
        let writing = try Writing(writer)
        defer { writing.stop() }
        var buffer = [UInt8](repeating: 0, count: 4096)
        var (last, changes, torn, backward, reads) = (UInt64(0), 0, 0, 0, 0)
        while reads < most || changes < 100 {
            let answer = buffer.withUnsafeMutableBytes { buffer in
                Self.name.withUnsafeBytes { reader.read($0, into: buffer) }
            }
            guard case .state(let length, let revision) = answer else {
                try #require(answer == .busy)
                continue
            }
            reads += 1
            if revision != last { changes += 1 }
            if revision < last { backward += 1 }
            last = revision
            let expected = Self.state(revision)
            let isWhole = length == expected.count && memcmp(expected, buffer, length) == 0
            if !isWhole { torn += 1 }
        }
        #expect(torn == 0)
        #expect(backward == 0)
    }

    @Test func writerThatDiesInTheMiddleLeavesTheStateBefore() throws {
        let writer = try MapWriter(named: "counter", stores: 1, blocks: 64)
        for revision in UInt64(1)...4 { try Self.publish(revision, by: writer) }
        let file = Self.bytes(of: writer)
        try file.withUnsafeBytes { file in
            let copy = UnsafeMutableRawBufferPointer.allocate(
                byteCount: file.count, alignment: Int(fluxbus_map_block))
            defer { copy.deallocate() }
            copy.copyMemory(from: file)
            var view = fluxbus_map_view()
            try #require(fluxbus_map_find_parts(&view, copy.baseAddress, UInt64(copy.count)) == 1)
            let slot = try #require(UnsafeMutablePointer(mutating: view.slots))
            let block = [slot.pointee.places.0, slot.pointee.places.1][Int(slot.pointee.sequence + 1) & 1]
                .block
            let half = Self.state(5)
            fluxbus_map_fill(copy.baseAddress, slot, block, half, UInt32(half.count), 5)
            #expect(Self.read(view) == (.state(length: 65, revision: 4), Self.state(4)))
            fluxbus_map_publish(slot)
            #expect(Self.read(view) == (.state(length: 81, revision: 5), Self.state(5)))
        }
    }

    /// A bus that is not to be trusted, or memory that fails, costs a reader nothing but answers: it stays within the map.
    @Test(arguments: UInt64(0)..<8) func damagedMapIsReadWithinItsBounds(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let writer = try MapWriter(named: "counter", stores: 2, blocks: 16)
        for revision in UInt64(1)...2 { try Self.publish(revision, by: writer) }
        let whole = Self.bytes(of: writer)
        let guarded = GuardedMemory.take()
        defer { guarded.giveBack() }
        var (opened, damaged) = (0, 0)
        for _ in 0..<2000 {
            var bytes = whole
            for _ in 0...Int.random(in: 0..<3, using: &random) {
                // The header, the buckets and the slots: what stands behind them is names and states.
                bytes[Int.random(in: 0..<256, using: &random)] = .random(in: 0 ... .max, using: &random)
            }
            guarded.withCopy(of: bytes) { copy in
                var view = fluxbus_map_view()
                guard fluxbus_map_find_parts(&view, copy.baseAddress, UInt64(copy.count)) == 1 else { return }
                opened += 1
                if Self.read(view).0 == .damaged { damaged += 1 }
            }
        }
        #expect(opened > 100)
        #expect(damaged > 10)
    }
}
