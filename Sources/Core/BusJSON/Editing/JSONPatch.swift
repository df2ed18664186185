/// JSON Patch (RFC 6902): applying a list of operations to a value, all of them or none.
///
/// Recursion is bounded by the depth of the values and the length of the pointers, which a depth-limited
/// reader and its line limit bound.
public enum JSONPatch {
    /// Gives `target` with every operation of `patch` applied, in order.
    public static func apply(_ patch: JSON, to target: JSON) throws(JSONPatchError) -> JSON {
        guard case .array(let operations) = patch else { throw JSONPatchError(.notAnArray, at: 0) }
        var result = target
        for (index, operation) in operations.enumerated() {
            do throws(Failure) {
                try apply(operation, to: &result)
            } catch {
                throw JSONPatchError(error.reason, at: index)
            }
        }
        return result
    }

    private static func apply(_ operation: JSON, to target: inout JSON) throws(Failure) {
        guard case .object(let members) = operation else { throw Failure(.notAnObject) }
        let name = try text("op", of: members)
        let path = try pointer("path", of: members)
        switch name {
        case "add":
            try JSONPlace(path).put(try value(of: members), into: &target)
        case "remove":
            _ = try JSONPlace(path).take(from: &target)
        case "replace":
            try JSONPlace(path).replace(with: try value(of: members), in: &target)
        case "move":
            let source = try pointer("from", of: members)
            let isInside = path.tokens.count > source.tokens.count
            if isInside && source == JSONPointer(tokens: Array(path.tokens.prefix(source.tokens.count))) {
                throw Failure(.moveIntoItself(source))
            }
            // The whole value can only be moved onto itself.
            if source.tokens.isEmpty { return }
            let moved = try JSONPlace(source).take(from: &target)
            try JSONPlace(path).put(moved, into: &target)
        case "copy":
            let source = try pointer("from", of: members)
            guard let copied = source.resolve(in: target) else { throw Failure(.noSuchPlace(source)) }
            try JSONPlace(path).put(copied, into: &target)
        case "test":
            let expected = try value(of: members)
            guard let found = path.resolve(in: target) else { throw Failure(.noSuchPlace(path)) }
            guard found.equalsNumerically(expected) else { throw Failure(.testFailed(path)) }
        default:
            throw Failure(.unknownOperation(name))
        }
    }

    private static func text(_ name: String, of members: JSONObject) throws(Failure) -> String {
        guard let text = members[name]?.string else { throw Failure(.missingMember(name)) }
        return text
    }

    private static func pointer(_ name: String, of members: JSONObject) throws(Failure) -> JSONPointer {
        let text = try text(name, of: members)
        do throws(JSONPointerError) {
            return try JSONPointer(text)
        } catch {
            throw Failure(.invalidPointer(text, error))
        }
    }

    private static func value(of members: JSONObject) throws(Failure) -> JSON {
        guard let value = members["value"] else { throw Failure(.missingMember("value")) }
        return value
    }

    /// What went wrong in one operation, before it is known which one that is.
    struct Failure: Error {
        let reason: JSONPatchError.Reason
        init(_ reason: JSONPatchError.Reason) { self.reason = reason }
    }
}
