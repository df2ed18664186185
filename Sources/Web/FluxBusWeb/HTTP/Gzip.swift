import CZlib
import FoundationEssentials

/// Compression of what is served over and over: once, when the program starts.
enum Gzip {
    /// The bytes as `Content-Encoding: gzip` has them; nil if that would not be shorter.
    static func packed(_ bytes: Data) -> Data? {
        var stream = z_stream()
        guard zlib_begin_gzip(&stream) == Z_OK else { return nil }
        defer { deflateEnd(&stream) }
        // What does not fit is not shorter.
        var packed = [UInt8](repeating: 0, count: bytes.count)
        var input = Array(bytes)
        let count: Int? = input.withUnsafeMutableBufferPointer { input in
            packed.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                return deflate(&stream, Z_FINISH) == Z_STREAM_END ? Int(stream.total_out) : nil
            }
        }
        return count.map { Data(packed[..<$0]) }
    }

    /// Whether a reader takes it: `gzip` among the codings of `Accept-Encoding`, and not with a weight of 0.
    static func isAccepted(by field: String?) -> Bool {
        for coding in (field ?? "").lowercased().split(separator: ",") {
            let parts = coding.split(separator: ";").map { $0.filter { !$0.isWhitespace } }
            guard let name = parts.first, name == "gzip" || name == "*" else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) }
            return weight ?? 1 > 0
        }
        return false
    }
}
