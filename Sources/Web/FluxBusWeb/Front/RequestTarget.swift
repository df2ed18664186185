import FoundationEssentials

/// What a request is for (RFC 9112, 3.2): a path, or a whole address, as clients send it to a proxy.
///
/// Of a path nothing is resolved: one that some reader would take for another one is refused.
struct RequestTarget: Equatable {
    /// The path, with what stands behind a question mark.
    let path: String
    /// The host of a whole address, with its port where it has one. It counts instead of the field Host.
    let authority: String?

    init(_ text: String) throws(RequestHead.Refusal) {
        if text.hasPrefix("/") {
            (path, authority) = (text, nil)
        } else {
            let schemes = ["http://", "https://"]
            guard let scheme = schemes.first(where: { text.lowercased().hasPrefix($0) }) else {
                throw .init(
                    status: 400,
                    reason: "A request is for a path, or for an address with http:// or https://.")
            }
            let rest = text.dropFirst(scheme.count)
            let host = rest.prefix { !"/?#".contains($0) }
            guard !host.isEmpty, !host.contains("@") else {
                throw .init(status: 400, reason: "An address names a host, and no user.")
            }
            let path = rest.dropFirst(host.count)
            self.path = path.hasPrefix("/") ? String(path) : "/" + path
            authority = String(host)
        }
        try Self.check(path.prefix { !"?#".contains($0) })
    }

    private static func check(_ path: Substring) throws(RequestHead.Refusal) {
        if path == "/" { return }
        for segment in path.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            guard let plain = segment.removingPercentEncoding, !plain.isEmpty, !plain.contains("/") else {
                throw .init(
                    status: 404,
                    reason: "There is nothing here: a segment of a path is UTF-8 without a slash, not empty.")
            }
            guard plain != ".", plain != ".." else {
                throw .init(
                    status: 400, reason: "A path has no segment . or ..; write the path that it leads to.")
            }
        }
    }
}
