extension Lens where Part: MutableCollection, Part.Element: Sendable, Part.Index == Int {
    /// The element at that index.
    public func element(at index: Int) -> Lens<Root, Part.Element> {
        element(.index(index)) { $0.indices.contains(index) ? index : nil }
    }
}

extension Lens
where Part: MutableCollection, Part.Element: Identifiable & Sendable, Part.Element.ID: Sendable {
    /// The element of that identity.
    public func element(id: Part.Element.ID) -> Lens<Root, Part.Element> {
        element(.id(id)) { part in part.firstIndex { $0.id == id } }
    }
}

extension Lens {
    /// The value of a dictionary for `key`: nil if there is none; setting nil removes it.
    public func value<Key: Hashable & Sendable, Value: Sendable>(
        forKey key: Key
    ) -> Lens<Root, Value?> where Part == [Key: Value] {
        let inside = Lens<Part, Value?>(
            path: LensPath(size: MemoryLayout<Part>.size)
                .stepping(.key(key), size: MemoryLayout<Value?>.size),
            get: { $0[key] }, change: { part, body in try body(&part[key]) })
        return appending(inside)
    }
}

extension Lens where Part: MutableCollection, Part.Element: Sendable {
    /// The element at the index that `find` returns.
    func element(
        _ step: LensStep, find: @escaping @Sendable (Part) -> Part.Index?
    ) -> Lens<Root, Part.Element> {
        let description = "\(path)\(step)"
        let inside = Lens<Part, Part.Element>(
            path: LensPath(size: MemoryLayout<Part>.size).stepping(
                step, size: MemoryLayout<Part.Element>.size),
            get: { part in
                guard let index = find(part) else { throw FluxError.missingElement(lens: description) }
                return part[index]
            },
            change: { part, body in
                guard let index = find(part) else { throw FluxError.missingElement(lens: description) }
                try body(&part[index])
            })
        return appending(inside)
    }
}
