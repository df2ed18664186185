/// One registered handler of one kind of outcome.
struct DispatchHandler: Sendable {
    let token: DispatchToken
    let outcome: ObjectIdentifier
    let handle: @Sendable (_ result: any Sendable, DispatchTurn) throws -> Void
}
