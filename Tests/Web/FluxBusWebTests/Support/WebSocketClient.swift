import TestServer

/// The browser's side of a WebSocket, frame by frame.
final class WebSocketClient {
    struct Frame: Equatable {
        let isFinal: Bool
        let opcode: UInt8
        let payload: [UInt8]

        /// Of a close frame.
        var code: Int { payload.count < 2 ? 0 : Int(payload[0]) << 8 | Int(payload[1]) }
        var reason: String { String(decoding: payload.dropFirst(2), as: UTF8.self) }
    }

    let client: WebClient

    init(_ client: WebClient) { self.client = client }

    static let mask: [UInt8] = [0x37, 0xfa, 0x21, 0x3d]

    /// The bytes of a frame, masked as a browser's are.
    static func bytes(
        _ payload: [UInt8], opcode: UInt8 = 1, isFinal: Bool = true, isMasked: Bool = true
    ) -> [UInt8] {
        let masked: UInt8 = isMasked ? 0x80 : 0
        var bytes: [UInt8] = [(isFinal ? 0x80 : 0) | opcode]
        switch payload.count {
        case ..<126: bytes.append(masked | UInt8(payload.count))
        case ..<65_536: bytes += [masked | 126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
        default:
            bytes.append(masked | 127)
            bytes += (0..<8).reversed().map { UInt8(payload.count >> ($0 * 8) & 255) }
        }
        guard isMasked else { return bytes + payload }
        return bytes + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
    }

    func send(_ line: String) { client.send(Self.bytes(Array(line.utf8))) }

    func frame() throws -> Frame {
        let head = try client.take(2)
        var length = Int(head[1] & 0x7f)
        if length == 126 { length = try client.take(2).reduce(0) { $0 << 8 | Int($1) } }
        if length == 127 { length = try client.take(8).reduce(0) { $0 << 8 | Int($1) } }
        return Frame(
            isFinal: head[0] & 0x80 != 0, opcode: head[0] & 0x0f, payload: try client.take(length))
    }

    /// The next message, whose frames it puts together; throws when the connection is closed instead.
    func line() throws -> String {
        var bytes: [UInt8] = []
        while true {
            let frame = try frame()
            guard frame.opcode <= 1 else {
                throw Sockets.Failure("A frame \(frame.opcode) came: \(frame.code) \(frame.reason)")
            }
            bytes += frame.payload
            if frame.isFinal { return String(decoding: bytes, as: UTF8.self) }
        }
    }

    func ask(_ line: String) throws -> String {
        send(line)
        return try self.line()
    }

    /// The close frame, and what else came before it; then nothing may follow.
    func end() throws -> (lines: Int, close: Frame) {
        var count = 0
        while true {
            let frame = try frame()
            if frame.opcode == 8 {
                guard try client.rest().isEmpty else { throw Sockets.Failure("More came after the end.") }
                return (count, frame)
            }
            count += 1
        }
    }
}
