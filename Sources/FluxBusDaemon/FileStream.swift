import Glibc

/// Whole lines to the standard streams.
enum FileStream: Int32 {
    case stdout = 1
    case stderr = 2

    func write(_ text: String) {
        var line = text + "\n"
        line.withUTF8 { bytes in
            var rest = bytes[...]
            while let base = UnsafeBufferPointer(rebasing: rest).baseAddress, !rest.isEmpty {
                let count = Glibc.write(rawValue, base, rest.count)
                if count < 0, errno == EINTR { continue }
                // Nobody reads: there is no one to tell.
                if count <= 0 { return }
                rest = rest.dropFirst(count)
            }
        }
    }
}
