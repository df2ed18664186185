/// Why a value does not fit its schema: where, and the rest of a sentence that begins with the place.
struct SchemaProblem: Error, Equatable {
    let path: [String]
    /// `must be at most 100, not 500`.
    let reason: String

    /// The dotted path.
    var place: String { path.joined(separator: ".") }
    /// `brightness must be at most 100, not 500`.
    var sentence: String { "\(place) \(reason)" }
}
