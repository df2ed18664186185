/// Why a JSON Patch could not be applied; the value it was meant for is as it was.
public struct JSONPatchError: Error, Equatable, Sendable {
    public enum Reason: Equatable, Sendable {
        /// The patch is no array.
        case notAnArray
        /// An operation is no object.
        case notAnObject
        /// A member of the operation is missing, or is no string.
        case missingMember(String)
        /// `op` is none of add, remove, replace, move, copy and test.
        case unknownOperation(String)
        case invalidPointer(String, JSONPointerError)
        /// Nothing stands where the pointer points, or nothing can be put there.
        case noSuchPlace(JSONPointer)
        /// A value cannot be moved into itself.
        case moveIntoItself(JSONPointer)
        case testFailed(JSONPointer)
    }

    public let reason: Reason
    /// Which operation, counted from 0.
    public let index: Int

    public init(_ reason: Reason, at index: Int) {
        self.reason = reason
        self.index = index
    }
}

extension JSONPatchError: CustomStringConvertible {
    /// One sentence that says what is wrong, and with which operation.
    public var description: String {
        let what =
            switch reason {
            case .notAnArray: "a JSON Patch is an array of operations"
            case .notAnObject: "an operation is an object"
            case .missingMember("value"): "the member value is missing"
            case .missingMember(let name): "the member \(name) is missing or not a string"
            case .unknownOperation(let name): "there is no operation \(name)"
            case .invalidPointer(let text, let error): "\(text): \(error)"
            case .noSuchPlace(let pointer): "there is no place \(pointer)"
            case .moveIntoItself(let pointer): "\(pointer) cannot be moved into itself"
            case .testFailed(let pointer): "\(pointer) has another value"
            }
        return "\(what) (operation \(index))"
    }
}
