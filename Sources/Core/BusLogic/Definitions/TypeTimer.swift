/// A timer that a type has of itself: set when its condition begins to hold for a store, and taken away when it ends.
struct TypeTimer: Sendable {
    let name: String
    let condition: ExpressionNode
    let setting: TimerRule.Setting
}
