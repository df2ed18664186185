import BusHistory
import BusJSON
import BusMachine
import TestSupport

/// A log that is thinned after so many groups were read.
final class HastyLog: PastSource {
    private let log: MemoryLog
    private let horizonsToBe: [String: Int]
    private var left: Int
    private(set) var hasThinned = false

    init(_ log: MemoryLog, thinning horizons: [String: Int], after groups: Int) {
        (self.log, horizonsToBe, left) = (log, horizons, groups)
    }

    private func visited() {
        left -= 1
        if left == 0 {
            hasThinned = true
            log.thin(horizonsToBe)
        }
    }

    func snapshots() throws(PastFailure) -> [Int] { try log.snapshots() }
    func snapshot(_ revision: Int) throws(PastFailure) -> [UInt8] { try log.snapshot(revision) }
    func horizons() throws(PastFailure) -> [String: Int] { try log.horizons() }
    func groupNumbers() throws(PastFailure) -> ClosedRange<Int>? { try log.groupNumbers() }
    func group(after revision: Int) throws(PastFailure) -> Int { try log.group(after: revision) }
    func group(atOrBefore number: Int) throws(PastFailure) -> Int? { try log.group(atOrBefore: number) }
    func indexedGroups() throws(PastFailure) -> [ClosedRange<Int>] { [] }
    func lastRevision(by time: Int) throws(PastFailure) -> Int { try log.lastRevision(by: time) }

    func forEachGroup(
        after revision: Int, _ body: (PastGroup) throws(PastFailure) -> Bool
    ) throws(PastFailure) {
        try log.forEachGroup(after: revision) { (group) throws(PastFailure) in
            let goesOn = try body(group)
            visited()
            return goesOn
        }
    }

    func forEachGroup(
        from number: Int, isOne: Bool, _ body: (PastGroup) throws(PastFailure) -> Bool
    ) throws(PastFailure) {
        try log.forEachGroup(from: number, isOne: isOne, body)
    }

    func indexBlock(
        of groups: ClosedRange<Int>, wantsLists: ([UInt8]) -> Bool
    ) throws(PastFailure) -> (terms: [UInt8], lists: [UInt8])? { nil }
}

extension JSON {
    /// What an answer says of a type: commits with what concerns it, and other values as they are.
    func only(_ type: String) -> JSON {
        let thinning = Thinning(["beat", "gauge", "counter"].filter { $0 != type })
        func only(_ value: JSON) -> JSON {
            if let array = value.array { return .array(array.map(only)) }
            guard var object = value.object else { return value }
            if object["revision"] != nil, object["actions"] != nil {
                var members = object
                members["revision"] = nil
                let text = #"{"revision":1,"# + JSON.object(members).encoded.dropFirst()
                let rest = Array(text.utf8).withUnsafeBytes { thinning.rest(of: $0) }
                switch rest {
                case .all: return value
                case .some(let bytes):
                    members = (try? JSON(parsing: bytes))?.object ?? [:]
                    members["revision"] = object["revision"]
                    return .object(members)
                case .nothing: return .object(["revision": object["revision"]!])
                }
            }
            for key in object.keys { object[key] = only(object[key]!) }
            return .object(object)
        }
        return only(self)
    }
}
