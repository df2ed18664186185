import BusJSON
import BusProtocol
import BusState

/// Which actions can have changed a part of a state, as the definition tells without any state.
extension DeclaredType {
    /// An action that can, where its payload has these values.
    package struct Writer: Sendable {
        package let action: String
        package let payload: [(name: String, value: String)]
    }

    /// The actions that can change what is at a path; nil where any may, because it is worked out from others.
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
    /// What the payload says where the write changes what is at a path, or what that is in; nil if it never does.
    fileprivate func payload(reaching keys: [String]) -> [(name: String, value: String)]? {
        var segments = path.segments
        // What is taken out of an array moves the elements behind it.
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
