import BusJSON
import BusProtocol
import BusState

/// Which actions can change a part of a state, as far as the definition alone tells.
extension DeclaredType {
    /// An action that can, if its payload has these values.
    package struct Writer: Sendable {
        package let action: String
        package let payload: [(name: String, value: String)]
    }

    /// The actions that can change the value at a path; nil if any may, because the value is computed.
    package func writers(of path: [String]) -> [Writer]? {
        guard let first = path.first, view == nil, !computed.contains(first) else { return nil }
        return actions.flatMap { action in
            action.writes.compactMap { step in
                step.payload(reaching: path).map { Writer(action: action.name, payload: $0) }
            }
        }
    }
}

extension WriteStep {
    /// The members that a payload must have for the write to change the value at a path, or one around it; nil if it never
    /// does.
    fileprivate func payload(reaching keys: [String]) -> [(name: String, value: String)]? {
        var segments = path.segments
        // Removing an element of an array moves those after it.
        if kind == .unset, segments.count > 1 { segments.removeLast() }
        var said: [(name: String, value: String)] = []
        for (segment, key) in zip(segments, keys) {
            switch segment {
            case .key(let known): guard UTF8Order.equal(known, key) else { return nil }
            case .payload(let name): said.append((name, key))
            case .expression: continue
            }
        }
        return said
    }
}
