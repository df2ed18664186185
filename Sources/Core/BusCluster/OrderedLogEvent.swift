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
    ///
    /// - Parameter lease: How long a dead member stays present if its lease is as long as ours, in milliseconds.
    case nameTaken(by: OrderedLogMember, lease: Int)
    /// The incarnation is known to have ended, whoever ended it. Once for each `joined` at most; `ended` also comes in
    /// order, before or after. While the log can't be reached nothing is known, and `ended` may be all that comes.
    case leaseLost(incarnation: Int)
    /// What `pass` asked for; nil: there is no membership to go on with.
    case passed(lease: Int?)
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
    /// The log is read from the member at this address from now on; nil: from the log itself, `because` of this where that is
    /// a loss.
    case reads(from: String?, because: String?)

    /// Whether it is of the reading: after the next `read` it says nothing any more.
    package var isOfReading: Bool {
        switch self {
        case .entry, .barrier, .barrierFailed, .trimmedAway, .replaced: true
        default: false
        }
    }
}

/// Why the shared log can't do what was requested, in one sentence that says what to do.
package struct OrderedLogFailure: Error, Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// No server can be reached, or none has a majority behind it.
        case unreachable
        /// A server took the request and did not answer in time.
        case timedOut
        /// A server's certificate is not trusted, or ours is not.
        case untrusted
        /// The user, the password or the user's rights are not enough.
        case forbidden
        /// The log has no room left.
        case full
        /// The request is larger than the log takes.
        case tooLarge
        /// The answer can't be understood, or is larger than any that is expected.
        case unexpected
        /// What is configured can't be used: an address, a file.
        case unusable
    }

    package let kind: Kind
    package let message: String

    /// A server has answered, and would answer the same at once.
    var isRefusal: Bool { [.forbidden, .full, .tooLarge, .unexpected].contains(kind) }

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }
}
