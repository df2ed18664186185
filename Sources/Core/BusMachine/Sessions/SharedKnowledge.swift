import BusJSON

/// What rules know of the principals made lately. Those of one user mostly share it, however many connections it has.
struct SharedKnowledge {
    /// The newest last, each with its JSON: equal strings need not have the same bytes.
    private var recent: [(text: String, who: JSON)] = []
    private static let most = 16

    mutating func who(_ by: [UInt8]) -> JSON {
        let who = Principal.who(by)
        let text = who.encoded
        if let known = recent.first(where: { UTF8Order.equal($0.text, text) }) { return known.who }
        if recent.count == Self.most { recent.removeFirst() }
        recent.append((text, who))
        return who
    }
}
