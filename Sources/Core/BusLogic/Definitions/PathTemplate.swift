import BusJSON
import BusProtocol
import BusState

/// A write path some of whose segments the payload names: `items.{payload.id}.done`.
final class PathTemplate: Sendable {
    enum Segment: Sendable {
        case key(String)
        /// The value of this payload member, as one whole key or index whatever it contains.
        case payload(String)
    }

    /// Why there is no path; `reason` is the end of a sentence.
    struct Failure: Error {
        let reason: String
    }

    let segments: [Segment]
    /// The dotted form, as the definition writes it.
    let text: String

    init(_ segments: [Segment], text: String) {
        self.segments = segments
        self.text = text
    }

    /// The path with the payload's segments in it.
    func resolve(_ payload: JSONObject) throws(Failure) -> StatePath {
        var keys: [String] = []
        keys.reserveCapacity(segments.count)
        for segment in segments {
            switch segment {
            case .key(let key): keys.append(key)
            case .payload(let name):
                switch payload[name] {
                case .string(let key)?: keys.append(key)
                case .int(let index)?: keys.append(String(index))
                case let value:
                    let found = value.map { "is \($0.phrase)" } ?? "is absent"
                    throw Failure(
                        reason: "payload.\(name) \(found), and the path \(text) takes a string or an integer")
                }
            }
        }
        return StatePath(keys)
    }
}
