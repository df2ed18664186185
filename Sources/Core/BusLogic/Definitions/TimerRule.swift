import BusJSON
import BusProtocol

/// What an action's `timers:` says of one timer, compiled.
struct TimerRule: Sendable {
    /// A length of time.
    enum Length: Sendable {
        /// One that the definition names, in milliseconds.
        case fixed(Int)
        /// An expression of it: seconds, or a text such as `5m`.
        case computed(ExpressionNode)

        /// In milliseconds; nil where an expression gives no length of time.
        func milliseconds(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Int? {
            switch self {
            case .fixed(let length): length
            case .computed(let expression): DurationText.milliseconds(of: try expression.value(&evaluation))
            }
        }
    }

    enum Time: Sendable {
        /// `word` is what the definition calls it: `in`, `every` or `for`.
        case after(Length, word: String)
        /// An expression of seconds since 1970.
        case at(ExpressionNode)

        /// What is wrong with a value that gives no time, as the end of a sentence.
        var rule: String {
            switch self {
            case .after(_, let word): "`\(word)` needs seconds, from 0 on, or a text such as 5m"
            case .at: "`at` needs seconds since 1970, from 0 on"
            }
        }
    }

    struct Setting: Sendable {
        let time: Time
        /// After how long it repeats, again and again; nil: it does not.
        var every: Length?
        let action: String
        let payload: ExpressionNode
    }

    let name: TimerName
    /// Nil: the timer is taken away.
    let setting: Setting?

    /// What repeats by itself does so once a second at most.
    static let shortestInterval = 1000
}

/// A timer that a type has of itself: set when its condition begins to hold for a store, and taken away when it ends.
struct TypeTimer: Sendable {
    let name: String
    let condition: ExpressionNode
    let setting: TimerRule.Setting
}
