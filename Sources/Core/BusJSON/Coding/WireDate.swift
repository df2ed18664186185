/// Dates as all languages read them: Foundation encodes a `Date` as seconds since 2001, and on the wire one is seconds since 1970.
///
/// This module does without Foundation; it knows the type by its name.
enum WireDate {
    /// From 1970 to 2001, in seconds.
    static let offset = 978_307_200.0

    private static let type =
        (_typeByName("20FoundationEssentials4DateV") ?? _typeByName("10Foundation4DateV")).map {
            ObjectIdentifier($0)
        }

    static func matches(_ type: Any.Type) -> Bool { Self.type == ObjectIdentifier(type) }
}
