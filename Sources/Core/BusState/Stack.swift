/// A list that is filled and emptied over and over, as one commit follows the other: emptying keeps the storage and
/// costs only what the elements cost. It belongs to one serial owner.
///
/// It is stored inside its owner and lent to others, so no reference to it is ever counted.
public struct Stack<Element>: ~Copyable {
    @usableFromInline
    struct Storage {
        @usableFromInline var base: UnsafeMutablePointer<Element>
        @usableFromInline var capacity: Int
        @usableFromInline var count: Int

        @usableFromInline
        init(capacity: Int) {
            base = .allocate(capacity: capacity)
            self.capacity = capacity
            count = 0
        }
    }

    /// Behind a constant pointer, so that no access has to be checked at run time, in other modules either.
    @usableFromInline let storage: UnsafeMutablePointer<Storage>
    @usableFromInline let initialCapacity: Int

    @inlinable
    public init(capacity: Int = 16) {
        initialCapacity = capacity
        storage = .allocate(capacity: 1)
        storage.initialize(to: Storage(capacity: capacity))
    }

    deinit {
        storage.pointee.base.deinitialize(count: storage.pointee.count)
        storage.pointee.base.deallocate()
        storage.deallocate()
    }

    @inlinable @inline(__always) public var count: Int { storage.pointee.count }
    @inlinable @inline(__always) public var isEmpty: Bool { storage.pointee.count == 0 }
    @inlinable @inline(__always) public var indices: Range<Int> { 0..<storage.pointee.count }

    @inlinable
    public subscript(index: Int) -> Element {
        @inline(__always) unsafeAddress {
            precondition(index >= 0 && index < storage.pointee.count, "There is no such element.")
            return UnsafePointer(storage.pointee.base + index)
        }
        @inline(__always) nonmutating unsafeMutableAddress {
            precondition(index >= 0 && index < storage.pointee.count, "There is no such element.")
            return storage.pointee.base + index
        }
    }

    /// The elements in place; valid until the next change.
    @inlinable @inline(__always)
    public var elements: UnsafeBufferPointer<Element> {
        UnsafeBufferPointer(start: storage.pointee.base, count: storage.pointee.count)
    }

    @inlinable @inline(__always)
    public func append(_ element: consuming Element) {
        if storage.pointee.count == storage.pointee.capacity { grow() }
        (storage.pointee.base + storage.pointee.count).initialize(to: element)
        storage.pointee.count &+= 1
    }

    @usableFromInline @inline(never)
    func grow() {
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: storage.pointee.capacity * 2)
        larger.moveInitialize(from: storage.pointee.base, count: storage.pointee.count)
        storage.pointee.base.deallocate()
        storage.pointee.base = larger
        storage.pointee.capacity *= 2
    }

    /// Removes the last element and returns it; nil when there is none.
    @inlinable @inline(__always)
    public func popLast() -> Element? {
        if storage.pointee.count == 0 { return nil }
        storage.pointee.count &-= 1
        return (storage.pointee.base + storage.pointee.count).move()
    }

    /// Removes everything after the first `count` elements.
    @inlinable @inline(__always)
    public func cut(to count: Int) {
        precondition(count >= 0 && count <= storage.pointee.count, "A stack can only be cut back.")
        while storage.pointee.count > count {
            storage.pointee.count &-= 1
            (storage.pointee.base + storage.pointee.count).deinitialize(count: 1)
        }
    }

    /// Empties it and keeps the storage.
    @inlinable @inline(__always)
    public func clear() { cut(to: 0) }

    /// Empties it and keeps the storage, where an element that holds no memory needs no look but the question.
    @inlinable @inline(__always)
    public func clear(_ holdsMemory: (UnsafePointer<Element>) -> Bool) {
        let (base, count) = (storage.pointee.base, storage.pointee.count)
        storage.pointee.count = 0
        for index in 0..<count where holdsMemory(UnsafePointer(base + index)) {
            (base + index).deinitialize(count: 1)
        }
    }

    /// Empties it and releases the storage, if that is for more than `bound` elements.
    public func relax(beyond bound: Int = 4096) {
        clear()
        guard storage.pointee.capacity > bound else { return }
        storage.pointee.base.deallocate()
        storage.pointee.base = .allocate(capacity: initialCapacity)
        storage.pointee.capacity = initialCapacity
    }
}
