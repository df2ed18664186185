/// A way to one part of a state, for reading and for changing it in place.
///
/// ```swift
/// let theme = Lens(\App.settings).appending(\.theme)
/// let kitchen = Lens(\App.rooms).element(id: "kitchen").appending(\.temperature)
/// let closures = Lens<App, Int>(get: { $0.total }, set: { $0.setTotal($1) })
/// ```
///
/// An element may be absent; then reading and changing throw ``FluxError/missingElement(lens:)``.
public struct Lens<Root: Sendable, Part: Sendable>: Sendable {
    typealias Change = @Sendable (inout Root, (inout Part) throws -> Void) throws -> Void

    let path: LensPath
    private let get: @Sendable (Root) throws -> Part
    private let change: Change

    init(path: LensPath, get: @escaping @Sendable (Root) throws -> Part, change: @escaping Change) {
        self.path = path
        self.get = get
        self.change = change
    }

    /// The part at `keyPath`.
    public init(_ keyPath: WritableKeyPath<Root, Part> & Sendable) {
        self.init(
            path: LensPath(keyPath), get: { $0[keyPath: keyPath] },
            change: { root, body in try body(&root[keyPath: keyPath]) })
    }

    /// The part that closures read and write. Whether such a part overlaps another one can't be known; only the
    /// same lens used twice is recognised, and one inside a part that another lens sees.
    public init(
        get: @escaping @Sendable (Root) throws -> Part,
        set: @escaping @Sendable (inout Root, Part) throws -> Void
    ) {
        let name = LensName()
        self.init(
            path: LensPath(size: MemoryLayout<Root>.size)
                .stepping(.closures(ObjectIdentifier(name)), size: MemoryLayout<Part>.size),
            // The name is kept as long as the lens, or another one might get its identity.
            get: { root in try withExtendedLifetime(name) { try get(root) } },
            change: { root, body in
                var part = try get(root)
                try body(&part)
                try set(&root, part)
            })
    }

    /// The part of `root`.
    public func part(of root: Root) throws -> Part { try get(root) }

    /// Changes the part of `root` in place, and returns the result of `body`.
    public func update<Result>(_ root: inout Root, _ body: (inout Part) throws -> Result) throws -> Result {
        var result: Result?
        try change(&root) { part in result = try body(&part) }
        guard let result else {
            preconditionFailure("A lens has to hand its part to the change it is given.")
        }
        return result
    }

    /// The part that `next` sees in this part.
    public func appending<Next: Sendable>(_ next: Lens<Part, Next>) -> Lens<Root, Next> {
        Lens<Root, Next>(path: path.appending(next.path)) { [get] root in
            try next.get(try get(root))
        } change: { [change] root, body in
            try change(&root) { part in try next.change(&part, body) }
        }
    }

    /// The part at `keyPath` in this part.
    public func appending<Next: Sendable>(_ keyPath: WritableKeyPath<Part, Next> & Sendable) -> Lens<
        Root, Next
    > {
        appending(Lens<Part, Next>(keyPath))
    }
}

/// An identity for a lens made of closures, which can't be compared themselves.
final class LensName: Sendable {}

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
