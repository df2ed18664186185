import BusJSON

/// Reading a line that is like the one before from the same sender.
extension RequestReader {
    /// Parses a line like the previous one of its sender; false for any other line.
    @inline(__always)
    func readByTemplate(
        _ line: UnsafeRawBufferPointer, _ familiar: UnsafeMutablePointer<RequestTemplate>
    ) -> Bool {
        guard familiar.pointee.isKept, familiar.pointee.generation == generation else { return false }
        // The request itself is one level.
        var reader = JSONReader(line, depthLimit: depth - 1)
        parts.pointee.id = Text(start: nil, count: 0)
        guard reader.take(familiar.pointee.before), fill(familiar.pointee.first, &reader),
            reader.take(familiar.pointee.between), fill(familiar.pointee.second, &reader),
            reader.take(familiar.pointee.behind), reader.isAtEnd
        else { return false }
        parts.pointee.names = familiar.pointee.names
        return true
    }

    /// Parses a gap of a template; false where its contents are not of the usual kind.
    @inline(__always)
    private func fill(_ gap: RequestTemplate.Gap, _ reader: inout JSONReader) -> Bool {
        switch gap {
        case .none: return true
        case .id:
            let first = reader.offset
            guard reader.takeDigits() || reader.takeShortInteger() != nil || takeText(&reader)
            else { return false }
            parts.pointee.id = reader.bytes(from: first, to: reader.offset)
            return true
        case .payload:
            guard reader.peek() == UInt8(ascii: "{") else { return false }
            do throws(JSONError) {
                try reader.object(replacing: &parts.pointee.payload)
                return true
            } catch {
                return false
            }
        }
    }

    private func takeText(_ reader: inout JSONReader) -> Bool {
        var scanner = PlainScanner(at: reader)
        guard scanner.takeText() != nil else { return false }
        reader.go(to: scanner)
        return true
    }

    /// Whether the line that was read is a dispatch in which all the names stand as they are, without escapes.
    var isPlainDispatch: Bool {
        complaint == nil && copies.isEmpty && present.contains(.op) && !hasMembersBeyondPlainDispatch
            && Self.matches(op, "dispatch")
    }
}
