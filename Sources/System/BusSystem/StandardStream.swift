import Glibc

/// Lines to the standard streams. A reader that is gone is no reason to end.
package enum StandardStream: Int32 {
    case output = 1
    case errors = 2

    package func write(_ text: String) {
        var line = text + "\n"
        line.withUTF8 { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let piece = UnsafeBufferPointer(rebasing: rest)
                let count = Glibc.write(rawValue, piece.baseAddress, piece.count)
                if count < 0, errno == EINTR { continue }
                if count <= 0 { return }
                rest = rest.dropFirst(count)
            }
        }
    }
}
