import BusJSON
import BusProtocol
import BusState

/// A write path some of whose segments only data tells: `items.{payload.id}.done`, `hours.{meta.hour}`.
final class PathTemplate: Sendable {
    enum Segment: Sendable {
        case key(String)
        /// The value of this payload member, as one whole key or index whatever it contains.
        case payload(String)
        /// The value of an expression, in the same way, and its text.
        case expression(ExpressionNode, String)

        /// What says which segment it is, as the definition writes it; nil where that is known.
        var text: String? {
            switch self {
            case .key: nil
            case .payload(let name): "payload.\(name)"
            case .expression(_, let text): text
            }
        }
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

    /// Whether expressions tell segments of it.
    var isComputed: Bool {
        segments.contains { if case .expression = $0 { true } else { false } }
    }

    /// The path with the payload's segments in it.
    func resolve(_ payload: JSONObject) throws(Failure) -> StatePath {
        var keys: [String] = []
        keys.reserveCapacity(segments.count)
        for segment in segments {
            switch segment {
            case .key(let key): keys.append(key)
            case .payload(let name): keys.append(try key(payload[name], of: segment))
            case .expression: preconditionFailure("A path with expressions needs all data of an action.")
            }
        }
        return StatePath(keys)
    }

    /// The first `count` keys of the path, on the data of an action.
    func keys(_ count: Int, _ evaluation: inout Evaluation) throws(EvaluationFailure) -> [String] {
        var keys: [String] = []
        keys.reserveCapacity(count + 1)
        for segment in segments.prefix(count) {
            let value: JSON? =
                switch segment {
                case .key(let key): .string(key)
                case .payload(let name): evaluation.payload.pointee[name]
                case .expression(let node, _): try node.value(&evaluation)
                }
            do throws(Failure) {
                keys.append(try key(value, of: segment))
            } catch {
                throw .failed(error.reason)
            }
            try evaluation.produce(16 + keys[keys.count - 1].utf8.count)
        }
        return keys
    }

    private func key(_ value: JSON?, of segment: Segment) throws(Failure) -> String {
        switch value {
        case .string(let key)?: return key
        case .int(let index)?: return String(index)
        default:
            let found = value.map { "is \($0.phrase)" } ?? "is absent"
            throw Failure(
                reason: "\(segment.text ?? "") \(found), and the path \(text) takes a string or an integer")
        }
    }
}
