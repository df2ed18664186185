/// What an ordered log has to tell its owner.
package enum OrderedLogEvent: Equatable, Sendable {
    // MARK: - Of the reading

    /// The next entry in order.
    case entry(OrderedEntry)
    /// Everything is delivered that the call for this number asked for.
    case barrier(Int)
    case barrierFailed(Int, OrderedLogFailure)
    /// The entries behind the place asked for are no longer all there: a snapshot is needed. The reading has stopped.
    ///
    /// - Parameter through: At least all up to this place are gone.
    case trimmedAway(through: Int)
    /// This is not the log that was read before: another cluster, or one that ends before what was read. The reading has
    /// stopped.
    case replaced(cluster: String)

    // MARK: - Of calls

    case proposed(ProposalName, ProposalOutcome)
    /// This is a member now. `joined` also comes in order, before or after.
    case joined(incarnation: Int)
    /// Another one of this name is present.
    case nameTaken(by: OrderedLogMember)
    /// The incarnation is known to have ended, whoever ended it. Once for each `joined` at most; `ended` also comes in
    /// order, before or after. While the log can't be reached nothing is known, and `ended` may be all that comes.
    case leaseLost(incarnation: Int)
    case members([OrderedLogMember])
    case membersFailed(OrderedLogFailure)
    case trimmed(through: Int)
    case trimFailed(OrderedLogFailure)

    // MARK: - Of the connection

    /// The log can be reached. `cluster` names it, as far as that can be told: a backup that was restored may have the name
    /// of the log that it was taken from.
    case attached(cluster: String)
    /// The log can't be reached, or refuses everything. Connecting goes on. Before the first `attached`, and then alternately.
    case detached(OrderedLogFailure)

    /// Whether it is of the reading: after the next `read` it says nothing any more.
    package var isOfReading: Bool {
        switch self {
        case .entry, .barrier, .barrierFailed, .trimmedAway, .replaced: true
        default: false
        }
    }
}
