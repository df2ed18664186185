import BusJSON
import BusMap
import CLinux
import Glibc

extension LineClient {
    /// Asks for the map of a type, and takes the file that comes with the reply.
    package func map(_ type: String) throws -> (reply: String, file: Int32?) {
        try send(#"{"op":"map","id":1,"type":"\#(type)"}"#)
        var files = [Int32](repeating: -1, count: Int(linux_descriptors_per_message))
        var buffer = [UInt8](repeating: 0, count: 4096)
        var (count, cut): (Int, Int32) = (0, 0)
        let received = linux_receive_message(descriptor, &buffer, buffer.count, &files, &count, &cut, 0)
        guard received > 0, count <= 1, cut == 0 else {
            throw Failure("\(received) bytes and \(count) files came for a map of \(type).")
        }
        return (String(decoding: buffer[..<received], as: UTF8.self), count == 1 ? files[0] : nil)
    }

    /// Asks for the map of a type, and opens it.
    package func reader(of type: String) throws -> MapReader {
        let (reply, file) = try map(type)
        guard let file else { throw Failure("No map of \(type): \(reply)") }
        defer { Glibc.close(file) }
        return try MapReader(file)
    }
}

extension MapReader {
    /// What it says of a store, whose state has at most so many bytes.
    package func state(of store: String, room: Int = 4096) -> (answer: MapAnswer, state: JSON?) {
        var answer = MapAnswer.none
        let bytes = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            answer = Array(store.utf8).withUnsafeBytes {
                read($0, into: UnsafeMutableRawBufferPointer(buffer))
            }
            if case .state(let length, _) = answer { count = length }
        }
        return (answer, try? JSON(parsing: bytes))
    }
}
