/// JSON Merge Patch (RFC 7396): applying one, and writing the one that leads from an old value to a new one.
///
/// In a merge patch `null` means "remove", so no patch can set a member to null: what it cannot say exactly is
/// refused, never approximated. Recursion is bounded by the depth of the values.
public enum MergePatch {
    /// Gives `target` with `patch` merged into it.
    public static func apply(_ patch: JSON, to target: JSON) -> JSON {
        var result = target
        merge(patch, into: &result)
        return result
    }

    /// Merges `patch` into `target` where it stands; what the patch does not touch is not copied.
    public static func merge(_ patch: JSON, into target: inout JSON) {
        guard case .object(let changes) = patch else {
            target = patch
            return
        }
        guard case .object(var object) = target else {
            target = .object(additions(changes))
            return
        }
        // The only reference to the members is now `object`, so they change in place.
        target = .null
        if changes.count <= fewChanges {
            for change in changes.members { merge(change, into: &object) }
        } else {
            object = merged(changes, into: object)
        }
        target = .object(object)
    }

    /// Up to so many members are looked up one by one; more are merged in one walk over both objects, because
    /// each insertion moves the members behind it.
    private static let fewChanges = 8

    private static func merge(_ change: JSONObject.Member, into object: inout JSONObject) {
        let (index, found) = object.position(of: change.key)
        switch (found, change.value.isNull) {
        case (true, true): object.remove(at: index)
        case (true, false): object.update(at: index) { merge(change.value, into: &$0) }
        case (false, true): break
        case (false, false):
            object.insert(
                JSONObject.Member(key: change.key, value: apply(change.value, to: .null)), at: index)
        }
    }

    private static func merged(_ changes: JSONObject, into object: JSONObject) -> JSONObject {
        var members: [JSONObject.Member] = []
        members.reserveCapacity(object.count + changes.count)
        for pair in MemberPairs(object, changes) {
            guard let change = pair.new else {
                members.append(JSONObject.Member(key: pair.key, value: pair.old ?? .null))
                continue
            }
            if change.isNull { continue }
            members.append(JSONObject.Member(key: pair.key, value: apply(change, to: pair.old ?? .null)))
        }
        return JSONObject(sorted: members)
    }

    /// What `changes` makes of an empty object: itself without the members that are null.
    private static func additions(_ changes: JSONObject) -> JSONObject {
        if canSet(.object(changes)) { return changes }
        return merged(changes, into: JSONObject())
    }

    /// Whether `value`, written as the patch for an absent member or a value that is no object, gives exactly
    /// `value`: it is not null, and no object in it (outside arrays) has a member that is null.
    public static func canSet(_ value: JSON) -> Bool {
        switch value {
        case .null: false
        case .object(let object): object.members.allSatisfy { canSet($0.value) }
        default: true
        }
    }
}
