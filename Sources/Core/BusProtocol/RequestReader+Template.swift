import BusJSON

/// Reading a line that is like one before from the same sender.
extension RequestReader {
    /// Parses a line like the one that a template keeps; false for any other line.
    @inline(__always)
    func readByTemplate(
        _ line: UnsafeRawBufferPointer, _ familiar: UnsafeMutablePointer<RequestTemplate>
    ) -> Bool {
        guard familiar.pointee.isKept, familiar.pointee.generation == generation else { return false }
        // The request itself is one level.
        let reader = JSONReader(line, depthLimit: depth - 1)
        var scanner = PlainScanner(at: reader)
        parts.pointee.id = Text(start: nil, count: 0)
        parts.pointee.names = familiar.pointee.names
        var text = familiar.pointee.text
        for number in 0..<familiar.pointee.pieceCount {
            let piece = familiar.pointee.pieces[number]
            guard scanner.take(Text(start: text, count: Int(piece.length))),
                fill(piece, &scanner, reader, familiar)
            else { return false }
            text += Int(piece.length)
        }
        guard scanner.isAtEnd else { return false }
        if parts.pointee.names.store.baseAddress != familiar.pointee.names.store.baseAddress {
            familiar.pointee.keep(store: parts.pointee.names.store)
        }
        return true
    }

    /// The same by one of the sender's other templates, which matches then.
    @inline(never)
    func readByOtherTemplates(
        _ line: UnsafeRawBufferPointer, than expected: UnsafeMutablePointer<RequestTemplate>
    ) -> UnsafeMutablePointer<RequestTemplate>? {
        var place = expected.pointee.next
        while place != expected {
            batch.clear()
            if readByTemplate(line, place) { return place }
            place = place.pointee.next
        }
        batch.clear()
        return nil
    }

    /// Parses a gap of a template; false where its contents are not of the usual kind.
    @inline(__always)
    private func fill(
        _ piece: RequestTemplate.Piece, _ scanner: inout PlainScanner, _ line: JSONReader,
        _ familiar: UnsafeMutablePointer<RequestTemplate>
    ) -> Bool {
        switch piece.gap {
        case .none: return true
        case .id:
            if let id = scanner.takeNumberOrText() {
                parts.pointee.id = id
                return true
            }
            return fillLongNumber(&scanner, line)
        case .key:
            guard let key = scanner.takeText() else { return false }
            parts.pointee.key = key
            return true
        case .store:
            if scanner.take(familiar.pointee.quotedStore) { return true }
            guard let store = scanner.takeText() else { return false }
            parts.pointee.names.store = store
            return true
        case .payload:
            guard scanner.isAt(UInt8(ascii: "{")) else { return false }
            var reader = line
            reader.go(to: scanner)
            do throws(JSONError) { try reader.object(replacing: &parts.pointee.payload) } catch {
                return false
            }
            scanner.go(to: reader)
            return true
        case .batch:
            batch.begin(familiar, at: scanner.place)
            return true
        case .target:
            guard let store = scanner.takeText() else { return false }
            batch.setTarget(of: Int(piece.action), to: store)
            return true
        case .actionPayload:
            // The array and the action are levels, too.
            var inside = line
            inside.leave(by: -2)
            return batch.setPayload(of: Int(piece.action), &scanner, inside)
        case .batchEnd:
            batch.end(familiar, at: scanner.place)
            return true
        }
    }

    @inline(never)
    private func fillLongNumber(_ scanner: inout PlainScanner, _ line: JSONReader) -> Bool {
        var reader = line
        reader.go(to: scanner)
        let first = reader.offset
        guard reader.takeShortInteger() != nil else { return false }
        parts.pointee.id = reader.bytes(from: first, to: reader.offset)
        scanner.go(to: reader)
        return true
    }

    /// Whether the line that was read is a dispatch without any option but a key, in which all the texts stand as they are,
    /// without escapes.
    var isPlainDispatch: Bool {
        complaint == nil && copies.isEmpty && present.contains(.op) && !hasOptions
            && Self.matches(op, "dispatch")
            && (!present.contains(.key) || parts.pointee.key.baseAddress != nil)
    }
}
