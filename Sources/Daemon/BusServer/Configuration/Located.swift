import BusSource

/// A value of the configuration and its source: a line of a file, a flag, or a variable.
package struct Located<Value: Sendable>: Sendable {
    package let value: Value
    package let place: Place

    package init(_ value: Value, at place: Place) {
        self.value = value
        self.place = place
    }
}

extension Located: Equatable where Value: Equatable {}

extension Place {
    /// A flag or variable, which has no lines.
    package init(name: String) { self.init(file: name, line: 0, column: 0) }
}
