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

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }
}
