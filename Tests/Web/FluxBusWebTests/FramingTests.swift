import FluxBusWeb
import FlyingFox
import Foundation
import TestSupport
import Testing

@Suite("Frames")
struct FramingTests {
    /// What comes out of the splitter, read again by the rules of WebSocket.
    private static func frames(_ queue: ByteQueue) -> [WebSocketClient.Frame] {
        var bytes = Array(queue.prefix(.max))[...]
        func take(_ count: Int) -> [UInt8] {
            defer { bytes = bytes.dropFirst(count) }
            return Array(bytes.prefix(count))
        }
        var frames: [WebSocketClient.Frame] = []
        while !bytes.isEmpty {
            let head = take(2)
            var length = Int(head[1] & 0x7f)
            if length == 126 { length = take(2).reduce(0) { $0 << 8 | Int($1) } }
            let mask = head[1] & 0x80 != 0 ? take(4) : [0, 0, 0, 0]
            let payload = take(length).enumerated().map { $1 ^ mask[$0 % 4] }
            frames.append(.init(isFinal: head[0] & 0x80 != 0, opcode: head[0] & 0x7f, payload: payload))
        }
        return frames
    }

    @Test(arguments: [0, 1, 125, 126, 16_383, 16_384, 16_385, 65_535, 65_536, 200_001])
    func longFramesComeInPieces(_ length: Int) {
        let payload = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        var splitter = FrameSplitter()
        var queue = ByteQueue()
        splitter.pass(WebSocketClient.bytes(payload), into: &queue)
        let frames = Self.frames(queue)
        #expect(frames.flatMap(\.payload) == payload)
        #expect(frames.allSatisfy { $0.payload.count <= FrameSplitter.piece })
        for (index, frame) in frames.enumerated() {
            #expect(frame.isFinal == (index == frames.count - 1))
            #expect(frame.opcode == (index == 0 ? 1 : 0))
        }
    }

    @Test func framesAreTheSameHoweverTheirBytesCome() {
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<60 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 1...5, using: &generator) {
                let length = [0, 3, 125, 126, 300, 20_000].randomElement(using: &generator) ?? 0
                bytes += WebSocketClient.bytes(
                    (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) },
                    opcode: UInt8.random(in: 0...15, using: &generator),
                    isFinal: Bool.random(using: &generator))
            }
            var (whole, pieces) = (ByteQueue(), ByteQueue())
            var splitter = FrameSplitter()
            splitter.pass(bytes, into: &whole)
            splitter = FrameSplitter()
            var rest = bytes[...]
            while !rest.isEmpty {
                let piece = rest.prefix(Int.random(in: 1...40, using: &generator))
                splitter.pass(piece, into: &pieces)
                rest = rest.dropFirst(piece.count)
            }
            #expect(Array(whole.prefix(.max)) == Array(pieces.prefix(.max)))
        }
    }

    @Test func aFrameMaySayAnyLengthAndTakesNoRoomForIt() {
        var splitter = FrameSplitter()
        var queue = ByteQueue()
        splitter.pass([0x81, 0xff] + [UInt8](repeating: 0xff, count: 8) + WebSocketClient.mask, into: &queue)
        #expect(queue.count < 10)
        for _ in 0..<100 {
            splitter.pass([UInt8](repeating: 7, count: 10_000), into: &queue)
            #expect(queue.count < 30_000)
            queue.removeAll()
        }
    }

    private static func frame(
        _ opcode: WSFrame.Opcode, _ payload: String, isFinal: Bool = true, reserved: Bool = false
    ) -> WSFrame {
        WSFrame(fin: isFinal, rsv1: reserved, opcode: opcode, mask: nil, payload: Data(payload.utf8))
    }

    @Test func aMessageIsALine() {
        var reader = MessageReader()
        #expect(reader.take(Self.frame(.text, "{}")) == .send(Array("{}\n".utf8)))
        #expect(reader.take(Self.frame(.text, "ab", isFinal: false)) == .send(Array("ab".utf8)))
        #expect(reader.take(Self.frame(.ping, "x")) == .pong(Data("x".utf8)))
        #expect(reader.take(Self.frame(.continuation, "", isFinal: false)) == .send([]))
        #expect(reader.take(Self.frame(.pong, "x")) == .nothing)
        #expect(reader.take(Self.frame(.continuation, "c")) == .send(Array("c\n".utf8)))
    }

    @Test func whatIsForbiddenEndsTheConnectionWithItsCode() {
        let long = String(repeating: "x", count: 126)
        let cases: [([WSFrame], UInt16)] = [
            ([Self.frame(.binary, "x")], 1003), ([Self.frame(.continuation, "x")], 1002),
            ([Self.frame(.text, "x", isFinal: false), Self.frame(.text, "y")], 1002),
            ([Self.frame(.text, "x", reserved: true)], 1002), ([Self.frame(.init(3), "x")], 1002),
            ([Self.frame(.init(15), "x")], 1002), ([Self.frame(.ping, long)], 1002),
            ([Self.frame(.ping, "x", isFinal: false)], 1002), ([Self.frame(.text, "a\nb")], 1007),
            ([WSFrame(fin: true, opcode: .text, mask: nil, payload: Data([0xc3]))], 1007),
            ([WSFrame(fin: true, opcode: .text, mask: nil, payload: Data([0xc3, 0x28]))], 1007),
            ([Self.frame(.close, "")], 1000), ([Self.frame(.close, "x")], 1002),
            ([Self.close(1000)], 1000), ([Self.close(4999)], 4999), ([Self.close(1005)], 1002),
            ([Self.close(999)], 1002), ([Self.close(5000)], 1002),
        ]
        for (frames, code) in cases {
            var reader = MessageReader()
            let steps = frames.map { reader.take($0) }
            guard case .close(let close) = steps.last else {
                Issue.record("\(frames) end nothing.")
                continue
            }
            #expect(close.code == code)
        }
    }

    private static func close(_ code: UInt16) -> WSFrame {
        WSFrame(fin: true, opcode: .close, mask: nil, payload: Data([UInt8(code >> 8), UInt8(code & 255)]))
    }

    @Test func messagesOfTooManyOrTooLongFramesEnd() {
        var reader = MessageReader()
        _ = reader.take(Self.frame(.text, "", isFinal: false))
        var taken = 1
        while case .send = reader.take(Self.frame(.continuation, "", isFinal: false)) { taken += 1 }
        #expect(taken == 8192)
        reader = MessageReader()
        let piece = String(repeating: "x", count: 1 << 20)
        _ = reader.take(Self.frame(.text, piece, isFinal: false))
        taken = 1
        while case .send = reader.take(Self.frame(.continuation, piece, isFinal: false)) { taken += 1 }
        #expect(taken == 64)
    }

    @Test func linesAreMessagesHoweverTheirBytesCome() {
        let text = Array("{\"a\":1}\n\n{\"ü\":\"\(String(repeating: "é", count: 300))\"}\n{}\n".utf8)
        let lines = text.dropLast().split(separator: 0x0a, omittingEmptySubsequences: false).map { Array($0) }
        for size in 1...text.count {
            var writer = MessageWriter()
            var messages: [[UInt8]] = []
            var open: [UInt8] = []
            var isOpen = false
            for start in stride(from: 0, to: text.count, by: size) {
                for frame in writer.frames(of: Array(text[start..<min(start + size, text.count)])) {
                    #expect(frame.opcode == (isOpen ? .continuation : .text) && frame.mask == nil)
                    open += frame.payload
                    isOpen = !frame.fin
                    if frame.fin { messages.append(open) }
                    if frame.fin { open = [] }
                }
            }
            #expect(messages == lines)
        }
    }

    /// Against the standard library's decoder.
    @Test func textIsCheckedWhereverItIsCut() {
        var generator = SeededGenerator(seed: 5)
        let seeds: [[UInt8]] = [
            Array("aé€😀".utf8), [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xc0, 0xaf],
            [0xe0, 0x80, 0x80],
            [0xf0, 0x80, 0x80, 0x80], [0xff], [0xed, 0x9f, 0xbf], [0xf4, 0x8f, 0xbf, 0xbf],
        ]
        for _ in 0..<4000 {
            var bytes = (0..<3).flatMap { _ in seeds.randomElement(using: &generator) ?? [] }
            if Bool.random(using: &generator), !bytes.isEmpty {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(
                    in: 0...255, using: &generator)
            }
            if Bool.random(using: &generator) { bytes.removeLast() }
            var check = UTF8Check()
            let cut = Int.random(in: 0...bytes.count, using: &generator)
            let isText = check.take(bytes[..<cut]) && check.take(bytes[cut...]) && check.isComplete
            #expect(isText == (String(validating: bytes, as: UTF8.self) != nil), "\(bytes)")
        }
    }
}
