/// Why a payload (or the state of a create) does not fit its schema; `message` is one sentence that says what
/// to do and names the member.
package struct PayloadFailure: Error, Sendable {
    package let message: String

    package init(_ message: String) { self.message = message }
}
