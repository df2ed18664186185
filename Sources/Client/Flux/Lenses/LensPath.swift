/// Which part of a state a lens sees, so that two lenses can be compared without a state at hand.
///
/// A path is a list of segments. Each holds the key paths from one value to a part of it, then the step into an element, where
/// the next segment begins. Stored members are compared by the bytes that they occupy, computed ones by their key paths.
struct LensPath: Sendable {
    enum Relation { case apart, same, contains, inside }

    struct Segment: Sendable {
        var keyPaths: [AnyKeyPath & Sendable] = []
        /// The bytes within the segment's first value, if the part is stored there.
        var bytes: Range<Int>?
        /// The next step; nil in the last segment only.
        var step: LensStep?

        /// The key paths from the segment's first value, each one step longer.
        var reached: [AnyKeyPath] {
            var reached: [AnyKeyPath] = []
            for next in keyPaths {
                guard let last = reached.last else {
                    reached.append(next)
                    continue
                }
                if let path = last.appending(path: next) { reached.append(path) }
            }
            return reached
        }
    }

    var segments: [Segment]

    /// The whole of a value of `size` bytes.
    init(size: Int) { segments = [Segment(bytes: 0..<size)] }

    init<Root, Part>(_ keyPath: KeyPath<Root, Part> & Sendable) {
        self.init(size: MemoryLayout<Root>.size)
        if keyPath == \Root.self { return }
        segments[0].keyPaths = [keyPath]
        segments[0].bytes = MemoryLayout<Root>.offset(of: keyPath).map { $0..<$0 + MemoryLayout<Part>.size }
    }

    /// This path, extended through `step` to a value of `size` bytes.
    func stepping(_ step: LensStep, size: Int) -> LensPath {
        var path = self
        path.segments[path.segments.count - 1].step = step
        path.segments += LensPath(size: size).segments
        return path
    }

    func appending(_ other: LensPath) -> LensPath {
        var path = self
        var joint = path.segments.removeLast()
        let next = other.segments[0]
        if let outer = joint.bytes, let inner = next.bytes {
            joint.bytes = outer.lowerBound + inner.lowerBound..<outer.lowerBound + inner.upperBound
        } else {
            joint.bytes = nil
        }
        joint.keyPaths += next.keyPaths
        joint.step = next.step
        path.segments += [joint] + other.segments.dropFirst()
        return path
    }

    /// The relation of this part to the other one. Parts that can't be told apart for certain count as the same.
    func relation(to other: LensPath) -> Relation {
        for (mine, theirs) in zip(segments, other.segments) {
            switch mine.relation(to: theirs) {
            case .apart: return .apart
            case .contains:
                guard let step = mine.step else { return .contains }
                return step.isOfClosures ? .apart : .same
            case .inside:
                guard let step = theirs.step else { return .inside }
                return step.isOfClosures ? .apart : .same
            case .same: break
            }
            switch (mine.step, theirs.step) {
            case (nil, nil): return .same
            case (nil, _): return .contains
            case (_, nil): return .inside
            case (let one?, let two?): if one.isApart(from: two) { return .apart }
            }
        }
        return .same
    }
}

extension LensPath.Segment {
    func relation(to other: Self) -> LensPath.Relation {
        let (mine, theirs) = (reached, other.reached)
        guard let myEnd = mine.last else { return theirs.isEmpty ? .same : .contains }
        guard let theirEnd = theirs.last else { return .inside }
        if myEnd == theirEnd { return .same }
        if theirs.contains(myEnd) { return .contains }
        if mine.contains(theirEnd) { return .inside }
        guard let bytes, let others = other.bytes else {
            if theirEnd.isWritten(inside: myEnd) { return .contains }
            return myEnd.isWritten(inside: theirEnd) ? .inside : .apart
        }
        guard bytes.overlaps(others) else { return .apart }
        if bytes == others { return .same }
        return bytes.count > others.count ? .contains : .inside
    }
}

extension AnyKeyPath {
    /// Whether it goes on where `outer` ends. A key path that was written as a whole, such as `\.rooms[0].name`, can be split
    /// only by its description. That leaves out the arguments of subscripts, so `\.rooms[0].name` counts as inside
    /// `\.rooms[1]`, too. Lenses to elements tell these apart.
    fileprivate func isWritten(inside outer: AnyKeyPath) -> Bool {
        let (inner, outer) = (String(describing: self), String(describing: outer))
        guard inner.hasPrefix(outer), inner.utf8.count > outer.utf8.count else { return false }
        return [".", "!", "?"].contains(inner[inner.index(inner.startIndex, offsetBy: outer.count)])
    }
}

extension LensPath: CustomStringConvertible {
    var description: String {
        segments.map { segment in
            let keyPaths = segment.reached.last.map { String(describing: $0) } ?? ""
            return keyPaths + (segment.step.map { "\($0)" } ?? "")
        }.joined()
    }
}

/// How a lens continues where key paths end: into an element of a collection, or through closures.
enum LensStep: Sendable {
    case index(Int)
    case id(any Hashable & Sendable)
    case key(any Hashable & Sendable)
    /// The element that the action names.
    case each
    /// Closures, told apart by the identity of their lens's name.
    case closures(ObjectIdentifier)

    var isOfClosures: Bool { if case .closures = self { true } else { false } }

    /// Whether the two certainly lead to different parts.
    func isApart(from other: LensStep) -> Bool {
        switch (self, other) {
        case (.index(let one), .index(let two)): one != two
        case (.id(let one), .id(let two)), (.key(let one), .key(let two)):
            AnyHashable(one) != AnyHashable(two)
        // The reach of closures can't be known; they are assumed to be apart from all but themselves.
        case (.closures(let one), .closures(let two)): one != two
        case (.closures, _), (_, .closures): true
        default: false
        }
    }
}

extension LensStep: CustomStringConvertible {
    var description: String {
        switch self {
        case .index(let index): "[\(index)]"
        case .id(let id): "[id: \(id)]"
        case .key(let key): "[\(key)]"
        case .each: "[each]"
        case .closures: ".(closures)"
        }
    }
}
