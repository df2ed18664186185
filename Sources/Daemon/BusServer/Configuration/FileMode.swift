import BusSource

/// Permission bits as they stand in the configuration: octal digits in quotes, as people know them from `chmod`.
enum FileMode {
    /// For the daemon's user and group.
    static let standard: UInt32 = 0o660

    static func read(_ value: LocatedValue) throws(SourceError) -> UInt32 {
        guard case .scalar(.string(let text)) = value.content else {
            // Without quotes YAML reads a decimal number: 0660 would be 660, which is not what was meant.
            throw value.failure("mode must be octal digits in quotes, such as \"0660\".")
        }
        guard let mode = UInt32(text, radix: 8), mode <= 0o777, text.utf8.count <= 4,
            text.utf8.allSatisfy({ (0x30...0x37).contains($0) })
        else {
            throw value.failure("\(text) is no mode; write three or four octal digits, such as \"0660\".")
        }
        return mode
    }
}
