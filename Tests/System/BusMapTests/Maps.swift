import BusMap
import BusSystem
import CMap
import Glibc

extension MapWriter {
    /// Publishes a state that is text.
    func publish(_ state: String?, of name: String, revision: UInt64) throws {
        try Array(name.utf8).withUnsafeBytes { name in
            guard let state else { return try publish(nil, of: name, revision: revision) }
            try Array(state.utf8).withUnsafeBytes { try publish($0, of: name, revision: revision) }
        }
    }
}

/// What a map says of a store, with the text that was copied.
struct ReadText: Equatable {
    var answer: MapAnswer
    var text = ""
}

extension MapReader {
    func read(_ name: String, room: Int = 1 << 16) -> ReadText {
        var answer = MapAnswer.none
        let bytes = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            answer = Array(name.utf8).withUnsafeBytes {
                read($0, into: UnsafeMutableRawBufferPointer(buffer))
            }
            if case .state(let length, _) = answer { count = length }
        }
        return ReadText(answer: answer, text: String(decoding: bytes, as: UTF8.self))
    }
}
