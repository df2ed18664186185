import BusProtocol

/// Why a value does not fit its schema: where, and the rest of a sentence that begins with the place.
struct SchemaProblem: Error, Equatable {
    private(set) var path: [String] = []
    /// `must be at most 100, not 500`.
    let reason: String

    init(_ reason: String, at path: [String] = []) {
        self.reason = reason
        self.path = path
    }

    /// The same seen from further outside.
    func inside(_ path: [String]) -> SchemaProblem { SchemaProblem(reason, at: path + self.path) }
    func inside(_ key: String) -> SchemaProblem { inside([key]) }

    /// The dotted path; of keys that a client made up, as much as a message quotes.
    var place: String { path.map { $0.shortened(to: 200) }.joined(separator: ".") }
    /// `brightness must be at most 100, not 500`.
    var sentence: String { "\(place) \(reason)" }
}
