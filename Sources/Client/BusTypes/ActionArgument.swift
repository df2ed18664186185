import BusJSON

/// A type that actions take as an argument: it names two of its values that differ.
///
/// `requiring` of ``ActionList`` makes an action from either, and where the two differ on the wire is what the
/// argument becomes. The values have no meaning beside that. An enum that lists its cases has nothing to write:
///
/// ```swift
/// enum Mode: String, Codable, CaseIterable, ActionArgument { case auto, manual }
///
/// struct Celsius: Codable, ActionArgument {
///     var degrees: Double
///     static let samples = (Celsius(degrees: 0), Celsius(degrees: 1))
/// }
/// ```
public protocol ActionArgument {
    /// Two values that differ when they are encoded.
    static var samples: (Self, Self) { get }
}

extension ActionArgument where Self: CaseIterable {
    /// The first and the last case. With only one, nothing can differ, and the action list says so.
    public static var samples: (Self, Self) {
        var cases = Array(allCases)
        guard let first = cases.first, let last = cases.popLast() else {
            preconditionFailure("\(Self.self) has no cases, so no action can take one; give it some.")
        }
        return (first, last)
    }
}

extension ActionArgument where Self: BinaryInteger {
    public static var samples: (Self, Self) { (0, 1) }
}

extension ActionArgument where Self: BinaryFloatingPoint {
    public static var samples: (Self, Self) { (0, 1) }
}

extension Bool: ActionArgument {
    public static var samples: (Bool, Bool) { (false, true) }
}

extension String: ActionArgument {
    public static var samples: (String, String) { ("", "a") }
}

extension Int: ActionArgument {}
extension Int8: ActionArgument {}
extension Int16: ActionArgument {}
extension Int32: ActionArgument {}
extension Int64: ActionArgument {}
extension UInt: ActionArgument {}
extension UInt8: ActionArgument {}
extension UInt16: ActionArgument {}
extension UInt32: ActionArgument {}
extension UInt64: ActionArgument {}
extension Double: ActionArgument {}
extension Float: ActionArgument {}

extension Array: ActionArgument where Element: ActionArgument {
    public static var samples: ([Element], [Element]) { ([], [Element.samples.0]) }
}

extension Set: ActionArgument where Element: ActionArgument {
    public static var samples: (Set<Element>, Set<Element>) { ([], [Element.samples.0]) }
}

extension Dictionary: ActionArgument where Key: ActionArgument, Value: ActionArgument {
    public static var samples: ([Key: Value], [Key: Value]) {
        ([:], [Key.samples.0: Value.samples.0])
    }
}

extension JSON: ActionArgument {
    public static var samples: (JSON, JSON) { (.bool(false), .bool(true)) }
}

extension JSONObject: ActionArgument {
    public static var samples: (JSONObject, JSONObject) { ([:], ["a": true]) }
}
