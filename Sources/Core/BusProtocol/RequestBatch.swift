import BusJSON

/// The actions of a batch, read in place: names where they stand in the line, payloads into storage that the next batch uses
/// again.
///
/// It holds only batches that are right as they stand. Any other is read as a value like all others, and its mistakes are
/// found where such values are looked at.
package final class RequestBatch {
    /// One action.
    package struct Element {
        /// Whether the target is a store; else it is a type.
        package var isStore = false
        package var target = RequestReader.Text(start: nil, count: 0)
        package var action = RequestReader.Text(start: nil, count: 0)
        package var payload = JSONObject()
    }

    /// Storage for so many actions is kept; what larger batches take is given back.
    private static let kept = 16
    /// Payloads of longer batches are given back, too.
    private static let keptBytes = 16 << 10

    @exclusivity(unchecked) private var elements: UnsafeMutablePointer<Element>
    @exclusivity(unchecked) private var capacity = RequestBatch.kept
    @exclusivity(unchecked) package private(set) var count = 0
    /// All of it as it stands in the line.
    @exclusivity(unchecked) private var text = RequestReader.Text(start: nil, count: 0)

    package init() {
        elements = .allocate(capacity: capacity)
        elements.initialize(repeating: Element(), count: capacity)
    }

    deinit {
        elements.deinitialize(count: capacity)
        elements.deallocate()
    }

    package var isEmpty: Bool { count == 0 }

    package func element(_ place: Int) -> UnsafeMutablePointer<Element> {
        precondition(place >= 0 && place < count, "There is no such action.")
        return elements + place
    }

    /// Forgets the batch before.
    @inline(__always)
    package func clear() {
        if count == 0 { return }
        if count > Self.kept || text.count > Self.keptBytes { shrink() }
        count = 0
    }

    private func shrink() {
        elements.deinitialize(count: capacity)
        if capacity > Self.kept {
            elements.deallocate()
            capacity = Self.kept
            elements = .allocate(capacity: capacity)
        }
        elements.initialize(repeating: Element(), count: capacity)
    }

    /// All of it as a value.
    func value(depth: Int) -> JSON {
        var reader = JSONReader(text, depthLimit: depth)
        do throws(JSONError) { return try reader.value() } catch {
            preconditionFailure("The batch was read before: \(error).")
        }
    }

    /// Reads an array of actions that comes next. False for whatever is not a batch without mistakes, and then the reader stands
    /// anywhere.
    package func read(_ reader: inout JSONReader) -> Bool {
        clear()
        var scanner = PlainScanner(at: reader)
        guard read(&scanner, reader, RequestReader.shortMemberTable) else { return false }
        reader.go(to: scanner)
        return true
    }

    /// Reads an array of actions. False for whatever is not a batch without mistakes, and then the scanner stands anywhere.
    /// `line` is the reader of the line, and says how deep it may nest.
    func read(_ scanner: inout PlainScanner, _ line: JSONReader, _ members: WordTable<Member>) -> Bool {
        var reader = line
        reader.go(to: scanner)
        let first = reader.offset
        guard reader.depthLeft > 2, scanner.take(UInt8(ascii: "[")) else { return false }
        reader.leave(by: -2)
        var count = 0
        repeat {
            if count == capacity { grow() }
            // Some encoders write a space behind each comma.
            _ = scanner.take(UInt8(ascii: " "))
            guard scanner.take(UInt8(ascii: "{")), read(&scanner, reader, members, into: elements + count)
            else {
                return false
            }
            count += 1
        } while scanner.take(UInt8(ascii: ","))
        guard scanner.take(UInt8(ascii: "]")) else { return false }
        self.count = count
        reader.go(to: scanner)
        text = reader.bytes(from: first, to: reader.offset)
        return true
    }

    @inline(__always)
    private func read(
        _ scanner: inout PlainScanner, _ line: JSONReader, _ members: WordTable<Member>,
        into element: UnsafeMutablePointer<Element>
    ) -> Bool {
        var present = MemberSet()
        repeat {
            let word = scanner.takeName()
            guard word != 0, let member = members.value(of: word), !present.contains(member) else {
                return false
            }
            present.insert(member)
            switch member {
            case .store, .type:
                guard let text = scanner.takeText() else { return false }
                element.pointee.target = text
                element.pointee.isStore = member == .store
            case .action:
                guard let text = scanner.takeText() else { return false }
                element.pointee.action = text
            case .payload:
                guard scanner.isAt(UInt8(ascii: "{")), read(&scanner, line, into: &element.pointee.payload)
                else {
                    return false
                }
            default: return false
            }
        } while scanner.take(UInt8(ascii: ","))
        guard scanner.take(UInt8(ascii: "}")), present.contains(.action),
            present.contains(.store) != present.contains(.type)
        else { return false }
        if !present.contains(.payload) { element.pointee.payload = JSONObject() }
        return true
    }

    @inline(__always)
    private func read(_ scanner: inout PlainScanner, _ line: JSONReader, into payload: inout JSONObject)
        -> Bool
    {
        var reader = line
        reader.go(to: scanner)
        do throws(JSONError) {
            try reader.object(replacing: &payload)
        } catch {
            return false
        }
        scanner.go(to: reader)
        return true
    }

    private func grow() {
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: 2 * capacity)
        larger.moveInitialize(from: elements, count: capacity)
        (larger + capacity).initialize(repeating: Element(), count: capacity)
        elements.deallocate()
        elements = larger
        capacity *= 2
    }
}
