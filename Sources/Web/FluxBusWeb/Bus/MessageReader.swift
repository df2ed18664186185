import FlyingFox
import FoundationEssentials

/// A browser's frames as lines for the bus: one text message is one line. Pure.
///
/// Messages are passed on as their frames come, so none is held, however long; the bus refuses lines that are too long for
/// it. What the rules of WebSocket forbid ends the connection with the code that they have for it.
package struct MessageReader {
    package enum Step: Equatable {
        case nothing
        /// Bytes for the bus.
        case send([UInt8])
        /// The payload of a ping, to be given back.
        case pong(Data)
        /// The connection ends, and this is said.
        case close(WSCloseCode)
    }

    /// In bytes. A longer message is refused: the usual limit of a line is far lower.
    private static let longestMessage = 64 << 20
    /// Twice the pieces into which the front cuts the longest message; finer cuts only cost time.
    private static let mostFrames = 8192
    private static let longestControl = 125

    private var isInMessage = false
    private var length = 0
    private var frames = 0
    private var text = UTF8Check()

    package init() {}

    package mutating func take(_ frame: WSFrame) -> Step {
        guard !frame.rsv1, !frame.rsv2, !frame.rsv3 else {
            return .close(WSCloseCode(1002, reason: "A frame has reserved bits set."))
        }
        switch frame.opcode {
        case .text where !isInMessage:
            (isInMessage, length, frames, text) = (true, 0, 0, UTF8Check())
            return takeMessage(frame)
        case .continuation where isInMessage:
            return takeMessage(frame)
        case .binary:
            return .close(WSCloseCode(1003, reason: "Send text: one message is one line of the bus."))
        case .close, .ping, .pong:
            return takeControl(frame)
        default:
            return .close(WSCloseCode(1002, reason: "A frame of this kind is not expected here."))
        }
    }

    private mutating func takeMessage(_ frame: WSFrame) -> Step {
        length += frame.payload.count
        frames += 1
        guard length <= Self.longestMessage else {
            return .close(
                WSCloseCode(1009, reason: "A message has at most \(Self.longestMessage) bytes."))
        }
        guard frames <= Self.mostFrames else {
            return .close(WSCloseCode(1008, reason: "A message comes in at most \(Self.mostFrames) frames."))
        }
        guard text.take(frame.payload), !frame.fin || text.isComplete else {
            return .close(WSCloseCode(1007, reason: "A message is not UTF-8."))
        }
        guard !frame.payload.contains(0x0a) else {
            return .close(WSCloseCode(1007, reason: "A message must be one line; this one has several."))
        }
        isInMessage = !frame.fin
        return .send(Array(frame.payload) + (frame.fin ? [0x0a] : []))
    }

    private func takeControl(_ frame: WSFrame) -> Step {
        guard frame.fin, frame.payload.count <= Self.longestControl else {
            return .close(WSCloseCode(1002, reason: "A control frame is too long or fragmented."))
        }
        switch frame.opcode {
        case .ping: return .pong(frame.payload)
        case .pong: return .nothing
        default: return .close(Self.answer(toClose: Array(frame.payload)))
        }
    }

    /// The same code again, if it is one that may be sent.
    private static func answer(toClose payload: [UInt8]) -> WSCloseCode {
        if payload.isEmpty { return .normalClosure }
        guard payload.count >= 2 else {
            return WSCloseCode(1002, reason: "A close frame has an incomplete code.")
        }
        let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
        var reason = UTF8Check()
        guard reason.take(payload[2...]), reason.isComplete else { return WSCloseCode(1007) }
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: return WSCloseCode(code)
        default: return WSCloseCode(1002, reason: "A close frame has an invalid code.")
        }
    }
}

/// The bus's bytes as frames for a browser: one line is one text message, without its end. Pure.
///
/// A line whose end has not come goes out as far as it is there, so none is held, however long.
package struct MessageWriter {
    private var isInMessage = false

    package init() {}

    package mutating func frames(of bytes: [UInt8]) -> [WSFrame] {
        var frames: [WSFrame] = []
        var rest = bytes[...]
        while let end = rest.firstIndex(of: 0x0a) {
            add(rest[..<end], isEnd: true, to: &frames)
            rest = rest[(end + 1)...]
        }
        if !rest.isEmpty { add(rest, isEnd: false, to: &frames) }
        return frames
    }

    private mutating func add(_ piece: ArraySlice<UInt8>, isEnd: Bool, to frames: inout [WSFrame]) {
        frames.append(
            WSFrame(
                fin: isEnd, opcode: isInMessage ? .continuation : .text, mask: nil, payload: Data(piece)))
        isInMessage = !isEnd
    }
}

/// Whether text that comes in pieces is UTF-8, wherever it is cut. Pure.
package struct UTF8Check {
    /// Bytes that the present character still needs, and the range of the next one.
    private var missing = 0
    private var next: ClosedRange<UInt8> = 0x80...0xbf

    package init() {}

    /// False: it is not.
    package mutating func take(_ bytes: some Sequence<UInt8>) -> Bool {
        for byte in bytes {
            if missing > 0 {
                guard next.contains(byte) else { return false }
                missing -= 1
                next = 0x80...0xbf
                continue
            }
            switch byte {
            case 0x00...0x7f: continue
            case 0xc2...0xdf: begin(1)
            case 0xe0: begin(2, 0xa0...0xbf)
            // No halves of surrogate pairs.
            case 0xed: begin(2, 0x80...0x9f)
            case 0xe1...0xef: begin(2)
            case 0xf0: begin(3, 0x90...0xbf)
            case 0xf1...0xf3: begin(3)
            case 0xf4: begin(3, 0x80...0x8f)
            default: return false
            }
        }
        return true
    }

    /// No character is incomplete.
    package var isComplete: Bool { missing == 0 }

    private mutating func begin(_ count: Int, _ range: ClosedRange<UInt8> = 0x80...0xbf) {
        missing = count
        next = range
    }
}
