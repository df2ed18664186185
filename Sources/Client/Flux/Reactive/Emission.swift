/// What a source tells its observers: a value, or that there will be no more.
enum Emission<Value: Sendable>: Sendable {
    case value(Value)
    case end

    func map<Other>(_ transform: (Value) -> Other) -> Emission<Other> {
        switch self {
        case .value(let value): .value(transform(value))
        case .end: .end
        }
    }
}
