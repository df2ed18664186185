import BusProtocol

/// What an action's `timers:` says of one timer, compiled.
struct TimerRule: Sendable {
    enum Time: Sendable {
        /// A length of time that the definition names, in milliseconds.
        case delay(Int)
        /// An expression of a length of time: seconds, or a text such as `5m`.
        case delayed(ExpressionNode)
        /// An expression of seconds since 1970.
        case at(ExpressionNode)
    }

    struct Setting: Sendable {
        let time: Time
        let action: String
        let payload: ExpressionNode
    }

    let name: String
    /// Nil: the timer is taken away.
    let setting: Setting?
}
