import BusJSON

/// The differences between two values, as a list of the smallest parts that changed, for people to read.
package struct StateDifference: Equatable, Sendable {
    /// The place, from the state's root.
    package let path: [PathSegment]
    /// The part before; nil when it was not there.
    package let old: JSON?
    /// The part after; nil when it is gone.
    package let new: JSON?

    package init(path: [PathSegment], old: JSON?, new: JSON?) {
        self.path = path
        self.old = old
        self.new = new
    }

    /// The place, as a JSON Pointer.
    package var pointer: String {
        let tokens = path.map { segment in
            switch segment {
            case .key(let key): key
            case .index(let index): String(index)
            }
        }
        return JSONPointer(tokens: tokens).description
    }

    /// The differences between a store's states at two moments; nil where there was no store.
    package static func between(_ old: JSON?, _ new: JSON?) -> [StateDifference] {
        switch (old, new) {
        case (let old?, let new?): between(old, new)
        case (nil, nil): []
        default: [StateDifference(path: [], old: old, new: new)]
        }
    }

    /// The differences in the order of the members' names.
    package static func between(_ old: JSON, _ new: JSON) -> [StateDifference] {
        var found: [StateDifference] = []
        collect(old, new, path: [], into: &found)
        return found
    }

    private static func collect(
        _ old: JSON, _ new: JSON, path: [PathSegment], into found: inout [StateDifference]
    ) {
        guard old != new else { return }
        switch (old, new) {
        case (.object(let before), .object(let after)):
            collectMembers(before, after, path: path, into: &found)
        case (.array(let before), .array(let after)) where isWorthComparing(before, after):
            for index in 0..<max(before.count, after.count) {
                let segment = path + [.index(index)]
                switch (before.indices.contains(index), after.indices.contains(index)) {
                case (true, true): collect(before[index], after[index], path: segment, into: &found)
                case (true, false): found.append(.init(path: segment, old: before[index], new: nil))
                default: found.append(.init(path: segment, old: nil, new: after[index]))
                }
            }
        default: found.append(.init(path: path, old: old, new: new))
        }
    }

    private static func collectMembers(
        _ before: JSONObject, _ after: JSONObject, path: [PathSegment], into found: inout [StateDifference]
    ) {
        let added = after.keys.filter { before[$0] == nil }
        let keys = (before.keys + added).sorted(by: UTF8Order.precedes)
        for key in keys {
            let segment = path + [.key(key)]
            switch (before[key], after[key]) {
            case (let old?, let new?): collect(old, new, path: segment, into: &found)
            case (let old, let new): found.append(.init(path: segment, old: old, new: new))
            }
        }
    }

    /// Element by element only when most are where they were; a removal in the middle moves all after it,
    /// so the whole array is clearer.
    private static func isWorthComparing(_ before: [JSON], _ after: [JSON]) -> Bool {
        let pairs = zip(before, after)
        let equal = pairs.reduce(0) { $0 + ($1.0 == $1.1 ? 1 : 0) }
        let common = min(before.count, after.count)
        return common > 0 && (common - equal) * 2 <= common || common == 1 && before.count == after.count
    }
}
