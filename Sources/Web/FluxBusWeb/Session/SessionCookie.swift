/// What a browser shows that has signed in: when that ends, signed by the key. Pure.
package struct SessionCookie {
    package static let name = "fluxbus-session"
    package static let lifetime = 12 * 3600

    private let key: [UInt8]

    package init(_ key: [UInt8]) { self.key = key }

    /// A new value.
    ///
    /// - Parameter now: Seconds since 1970.
    package func value(now: Int) -> String {
        let text = "\(now + Self.lifetime).\(Secret.hexadecimal(Secret.random(count: 8)))"
        return "\(text).\(signature(of: text))"
    }

    package func isGood(_ value: some StringProtocol, now: Int) -> Bool {
        guard let dot = value.lastIndex(of: ".") else { return false }
        let (text, given) = (value[..<dot], value[value.index(after: dot)...])
        guard Secret.isSame(given.utf8, signature(of: String(text)).utf8) else { return false }
        guard let end = text.split(separator: ".").first.flatMap({ Int($0) }) else { return false }
        // One that is too far away was made by a clock that was wrong.
        return now < end && end <= now + Self.lifetime
    }

    private func signature(of text: String) -> String {
        Secret.hexadecimal(Secret.signature(of: "fluxbus web session 1\n\(text)", with: key))
    }

    /// The value in the header field Cookie, which may hold others of the same host.
    package static func values(in field: String?) -> [Substring] {
        (field ?? "").split(separator: ";").compactMap { pair in
            let pair = pair.drop { $0 == " " }
            return pair.hasPrefix(name + "=") ? pair.dropFirst(name.count + 1) : nil
        }
    }
}
