/// Why a write could not be applied; the dispatch that caused it is rejected.
package struct WriteFailure: Error, Sendable {
    package enum Reason: CaseIterable, Sendable {
        case missing
        case notContainer
        case notNumber
        case notBoolean
        case notArray
        case badIndex
        case amountNotNumber
        case overflow
    }

    package let reason: Reason
    package let path: [String]

    package init(_ reason: Reason, at path: [String]) {
        self.reason = reason
        self.path = path
    }
}

extension WriteFailure: CustomStringConvertible {
    /// What is wrong at the path, as the end of a sentence that names store and action.
    package var description: String {
        let place = path.joined(separator: ".")
        return switch reason {
        case .missing: "\(place) does not exist"
        case .notContainer: "\(place) leads through a value that is neither object nor array"
        case .notNumber: "\(place) is not a number"
        case .notBoolean: "\(place) is not a boolean"
        case .notArray: "\(place) is not an array"
        case .badIndex: "\(place) is not an index of its array"
        case .amountNotNumber: "the amount for \(place) is not a number"
        case .overflow: "\(place) would leave the range of its number"
        }
    }
}
