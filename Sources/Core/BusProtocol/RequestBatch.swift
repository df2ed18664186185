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

    init() {
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
    func clear() {
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

    /// Reads an array of actions. False for whatever is not a batch without mistakes, and then the reader stands anywhere.
    func read(_ reader: inout JSONReader, _ map: inout QuoteMap, _ members: WordTable<Member>) -> Bool {
        let first = reader.offset
        guard reader.depthLeft > 2, reader.take(UInt8(ascii: "[")) else { return false }
        reader.leave(by: -2)
        var count = 0
        repeat {
            if count == capacity { grow() }
            guard reader.take(UInt8(ascii: "{")), read(&reader, &map, members, into: elements + count) else {
                return false
            }
            count += 1
        } while reader.take(UInt8(ascii: ","))
        guard reader.take(UInt8(ascii: "]")) else { return false }
        reader.leave(by: 2)
        self.count = count
        text = reader.bytes(from: first, to: reader.offset)
        return true
    }

    @inline(__always)
    private func read(
        _ reader: inout JSONReader, _ map: inout QuoteMap, _ members: WordTable<Member>,
        into element: UnsafeMutablePointer<Element>
    ) -> Bool {
        var present = MemberSet()
        repeat {
            let word = reader.takeShortName(&map)
            guard word != 0, let member = members.value(of: word), !present.contains(member) else {
                return false
            }
            present.insert(member)
            switch member {
            case .store, .type:
                guard let text = reader.takePlainText(&map) else { return false }
                element.pointee.target = text
                element.pointee.isStore = member == .store
            case .action:
                guard let text = reader.takePlainText(&map) else { return false }
                element.pointee.action = text
            case .payload:
                var inner = reader
                guard inner.peek() == UInt8(ascii: "{"), read(&inner, into: &element.pointee.payload) else {
                    return false
                }
                reader = inner
            default: return false
            }
        } while reader.take(UInt8(ascii: ","))
        guard reader.take(UInt8(ascii: "}")), present.contains(.action),
            present.contains(.store) != present.contains(.type)
        else { return false }
        if !present.contains(.payload) { element.pointee.payload = JSONObject() }
        return true
    }

    private func read(_ reader: inout JSONReader, into payload: inout JSONObject) -> Bool {
        do throws(JSONError) {
            try reader.object(replacing: &payload)
            return true
        } catch {
            return false
        }
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
