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
        /// The payload as it stands in the line; without an address where there is none.
        var payloadText = RequestReader.Text(start: nil, count: 0)
        /// What its names stood for in a batch like this one.
        package var resolved: UnsafeMutablePointer<ResolvedDispatch>?

        /// Takes the payload out while the batch is executed. The caller has to put it back.
        @inline(__always)
        package mutating func takePayload() -> JSONObject {
            var taken = JSONObject()
            swap(&taken, &payload)
            return taken
        }
    }

    /// Storage for so many actions is kept; what larger batches take is given back.
    private static let kept = 16
    /// Payloads of longer batches are given back, too.
    private static let keptBytes = 16 << 10

    /// What changes with each batch. It stands behind a constant pointer, so that reading it from another module is not checked
    /// for overlapping accesses each time.
    private struct Contents {
        var elements: UnsafeMutablePointer<Element>
        var capacity = RequestBatch.kept
        var count = 0
        var text = RequestReader.Text(start: nil, count: 0)
    }

    private let contents: UnsafeMutablePointer<Contents>

    package init() {
        let elements = UnsafeMutablePointer<Element>.allocate(capacity: Self.kept)
        elements.initialize(repeating: Element(), count: Self.kept)
        contents = .allocate(capacity: 1)
        contents.initialize(to: Contents(elements: elements))
    }

    deinit {
        contents.pointee.elements.deinitialize(count: contents.pointee.capacity)
        contents.pointee.elements.deallocate()
        contents.deallocate()
    }

    package var count: Int { contents.pointee.count }

    package var isEmpty: Bool { count == 0 }

    /// All of it as it stands in the line; without an address where there is none.
    var text: RequestReader.Text { contents.pointee.text }

    /// The actions, not copied; valid until the next line is read.
    package var elements: UnsafeMutableBufferPointer<Element> {
        UnsafeMutableBufferPointer(start: contents.pointee.elements, count: count)
    }

    /// Forgets the batch before.
    @inline(__always)
    package func clear() {
        if count == 0 { return }
        if count > Self.kept || text.count > Self.keptBytes { shrink() }
        contents.pointee.count = 0
        contents.pointee.text = RequestReader.Text(start: nil, count: 0)
    }

    private func shrink() {
        contents.pointee.elements.deinitialize(count: contents.pointee.capacity)
        if contents.pointee.capacity > Self.kept {
            contents.pointee.elements.deallocate()
            contents.pointee.capacity = Self.kept
            contents.pointee.elements = .allocate(capacity: Self.kept)
        }
        contents.pointee.elements.initialize(repeating: Element(), count: Self.kept)
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
            if count == contents.pointee.capacity { grow() }
            // Some encoders write a space behind each comma.
            _ = scanner.take(UInt8(ascii: " "))
            let element = contents.pointee.elements + count
            guard scanner.take(UInt8(ascii: "{")), read(&scanner, reader, members, into: element) else {
                return false
            }
            count += 1
        } while scanner.take(UInt8(ascii: ","))
        guard scanner.take(UInt8(ascii: "]")) else { return false }
        contents.pointee.count = count
        reader.go(to: scanner)
        contents.pointee.text = reader.bytes(from: first, to: reader.offset)
        return true
    }

    @inline(__always)
    private func read(
        _ scanner: inout PlainScanner, _ line: JSONReader, _ members: WordTable<Member>,
        into element: UnsafeMutablePointer<Element>
    ) -> Bool {
        var present = MemberSet()
        element.pointee.payloadText = RequestReader.Text(start: nil, count: 0)
        element.pointee.resolved = nil
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
                guard readPayload(&scanner, line, into: element) else { return false }
            default: return false
            }
        } while scanner.take(UInt8(ascii: ","))
        guard scanner.take(UInt8(ascii: "}")), present.contains(.action),
            present.contains(.store) != present.contains(.type)
        else { return false }
        if !present.contains(.payload) { element.pointee.payload = JSONObject() }
        return true
    }

    /// `line` says how deep a payload may nest.
    @inline(__always)
    private func readPayload(
        _ scanner: inout PlainScanner, _ line: JSONReader, into element: UnsafeMutablePointer<Element>
    ) -> Bool {
        guard scanner.isAt(UInt8(ascii: "{")) else { return false }
        var reader = line
        reader.go(to: scanner)
        let first = reader.offset
        do throws(JSONError) {
            try reader.object(replacing: &element.pointee.payload)
        } catch {
            return false
        }
        element.pointee.payloadText = reader.bytes(from: first, to: reader.offset)
        scanner.go(to: reader)
        return true
    }

    private func grow() {
        let capacity = contents.pointee.capacity
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: 2 * capacity)
        larger.moveInitialize(from: contents.pointee.elements, count: capacity)
        (larger + capacity).initialize(repeating: Element(), count: capacity)
        contents.pointee.elements.deallocate()
        contents.pointee.elements = larger
        contents.pointee.capacity = 2 * capacity
    }

    // MARK: - By a template

    /// A batch like one that is kept begins: `begin`, then a target and a payload wherever there are such gaps, then `end`.
    @inline(__always)
    func begin(_ template: UnsafeMutablePointer<RequestTemplate>, at place: UnsafeRawPointer) {
        contents.pointee.text = RequestReader.Text(start: place, count: 0)
        for number in 0..<template.pointee.actionCount {
            let element = contents.pointee.elements + number
            let action = template.pointee.actions + number
            element.pointee.isStore = action.pointee.isStore
            element.pointee.target = action.pointee.target
            element.pointee.action = action.pointee.name
            element.pointee.resolved = action.pointer(to: \.resolved)
            if !action.pointee.hasPayload { element.pointee.payload = JSONObject() }
        }
    }

    @inline(__always)
    func setTarget(of number: Int, to store: RequestReader.Text) {
        contents.pointee.elements[number].target = store
    }

    /// False where something else than a payload that may stand here comes next.
    @inline(__always)
    func setPayload(of number: Int, _ scanner: inout PlainScanner, _ line: JSONReader) -> Bool {
        readPayload(&scanner, line, into: contents.pointee.elements + number)
    }

    @inline(__always)
    func end(_ template: UnsafeMutablePointer<RequestTemplate>, at place: UnsafeRawPointer) {
        guard let first = text.baseAddress else { return }
        contents.pointee.text = RequestReader.Text(start: first, count: place - first)
        contents.pointee.count = template.pointee.actionCount
    }
}
