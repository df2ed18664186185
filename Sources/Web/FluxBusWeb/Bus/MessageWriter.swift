import FlyingFox
import FoundationEssentials

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
