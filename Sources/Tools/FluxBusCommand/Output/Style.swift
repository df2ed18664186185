/// Colours of a terminal, or none. Restrained: addresses are emphasised, old values faint, new ones prominent.
package struct Style: Sendable {
    package let isColoured: Bool

    package static let plain = Style(isColoured: false)

    package init(isColoured: Bool) { self.isColoured = isColoured }

    /// Decides by the option, `$NO_COLOR`, `$TERM` and whether output is a terminal.
    package init(mode: ColorMode, isTerminal: Bool, environment: [String: String]) {
        switch mode {
        case .always: isColoured = true
        case .never: isColoured = false
        case .auto:
            let refused = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
            isColoured = isTerminal && !refused && environment["TERM"] != "dumb"
        }
    }

    package enum Role: String, Sendable {
        case address = "36"
        case heading = "1"
        case faint = "2"
        case old = "31"
        case new = "32"
        case note = "33"
        case failure = "1;31"
        case plain = ""
    }

    package func paint(_ text: String, _ role: Role) -> String {
        guard isColoured, role != .plain, !text.isEmpty else { return text }
        return "\u{1b}[\(role.rawValue)m\(text)\u{1b}[0m"
    }
}
