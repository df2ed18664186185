/// The elements of an array while it is read: few in memory that the reader lends from its stack, many in an
/// array that grows. So a short array takes one allocation of exactly its size.
struct ElementList {
    /// How many elements the lent memory holds.
    static let fewest = 16

    private let lent: UnsafeMutablePointer<JSON>
    private var count = 0
    /// All the elements, once the lent memory does not hold them.
    private var many: [JSON] = []

    /// Uses `memory`, uninitialised, of `fewest` elements. One of `finish` and `discard` must be called.
    init(_ memory: UnsafeMutableBufferPointer<JSON>) { lent = memory.baseAddress! }

    mutating func add(_ element: consuming JSON) {
        if many.isEmpty && count < Self.fewest {
            (lent + count).initialize(to: element)
            count += 1
            return
        }
        if many.isEmpty {
            many.reserveCapacity(4 * Self.fewest)
            for index in 0..<count { many.append((lent + index).move()) }
            count = 0
        }
        many.append(element)
    }

    mutating func finish() -> [JSON] {
        guard many.isEmpty else { return many }
        var elements: [JSON] = []
        elements.reserveCapacity(count)
        for index in 0..<count { elements.append((lent + index).move()) }
        count = 0
        return elements
    }

    /// Gives up the elements read so far.
    mutating func discard() {
        lent.deinitialize(count: count)
        count = 0
        many = []
    }
}
