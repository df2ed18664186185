/// The place of a request in a distributed trace, as W3C's Trace Context writes it:
/// `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`.
package enum Traceparent {
    /// Whether a text is one: a version, of which there is one, a trace and a span, of which none is zero, and flags.
    package static func isValid(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return parts.map(\.count) == [2, 32, 16, 2] && parts[0].elementsEqual("00".utf8)
            && parts.joined().allSatisfy("0123456789abcdef".utf8.contains)
            && parts[1...2].allSatisfy { $0.contains { $0 != UInt8(ascii: "0") } }
    }
}
