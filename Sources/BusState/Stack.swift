/// A list that is filled and emptied over and over, as one commit follows the other: emptying keeps the
/// storage and costs only what the elements cost. It belongs to one serial owner.
package final class Stack<Element> {
    @usableFromInline let initialCapacity: Int
    @exclusivity(unchecked) @usableFromInline var base: UnsafeMutablePointer<Element>
    @exclusivity(unchecked) @usableFromInline var capacity: Int
    @exclusivity(unchecked) @usableFromInline var stored = 0

    @inlinable
    package init(capacity: Int = 16) {
        initialCapacity = capacity
        self.capacity = capacity
        base = .allocate(capacity: capacity)
    }

    deinit {
        base.deinitialize(count: stored)
        base.deallocate()
    }

    @inlinable package var count: Int { stored }
    @inlinable package var isEmpty: Bool { stored == 0 }
    @inlinable package var indices: Range<Int> { 0..<stored }

    @inlinable
    package subscript(index: Int) -> Element {
        @inline(__always) unsafeAddress {
            precondition(index >= 0 && index < stored, "There is no such element.")
            return UnsafePointer(base + index)
        }
        @inline(__always) unsafeMutableAddress {
            precondition(index >= 0 && index < stored, "There is no such element.")
            return base + index
        }
    }

    /// The elements in place; valid until the next change.
    @inlinable
    package var elements: UnsafeBufferPointer<Element> { UnsafeBufferPointer(start: base, count: stored) }

    @inlinable
    package func append(_ element: consuming Element) {
        if stored == capacity { grow() }
        (base + stored).initialize(to: element)
        stored &+= 1
    }

    @usableFromInline
    func grow() {
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: capacity * 2)
        larger.moveInitialize(from: base, count: stored)
        base.deallocate()
        base = larger
        capacity *= 2
    }

    /// Takes away everything behind the first `count` elements.
    @inlinable
    package func cut(to count: Int) {
        precondition(count >= 0 && count <= stored, "A stack can only be cut back to what it holds.")
        (base + count).deinitialize(count: stored - count)
        stored = count
    }

    /// Empties it; storage beyond `bound` elements is given back.
    @inlinable
    package func clear(keeping bound: Int = 65_536) {
        base.deinitialize(count: stored)
        stored = 0
        if capacity > bound { shrink() }
    }

    @usableFromInline
    func shrink() {
        base.deallocate()
        capacity = initialCapacity
        base = .allocate(capacity: capacity)
    }
}
