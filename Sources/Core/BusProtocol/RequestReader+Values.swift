import BusJSON

/// Values of members beyond those of a plain dispatch, checked for their kind.
extension RequestReader {
    package func string(_ member: Member) throws(RequestError) -> String? {
        guard let value = value(member) else { return nil }
        guard case .string(let text) = value else {
            throw .invalid(member.name, "`\(member.name)` must be a string.")
        }
        return text
    }

    package func flag(_ member: Member, default standard: Bool) throws(RequestError) -> Bool {
        guard let value = value(member) else { return standard }
        guard case .bool(let flag) = value else {
            throw .invalid(member.name, "`\(member.name)` must be true or false.")
        }
        return flag
    }

    /// A whole number of at least `least`.
    package func integer(_ member: Member, least: Int = 0) throws(RequestError) -> Int? {
        guard let value = value(member) else { return nil }
        guard case .int(let number) = value, number >= least else {
            throw .invalid(member.name, "`\(member.name)` must be a whole number of at least \(least).")
        }
        return number
    }

    /// A time in seconds since 1970: the last millisecond that is not after it.
    package func time(_ member: Member) throws(RequestError) -> Int? {
        guard let value = value(member) else { return nil }
        guard let seconds = value.double, seconds >= 0, seconds <= Self.lastTime else {
            throw .invalid(
                member.name, "`\(member.name)` must be a time in seconds since 1970, such as 1763877000.5.")
        }
        let milliseconds = Int((seconds * 1000).rounded())
        return Double(milliseconds) / 1000 > seconds ? milliseconds - 1 : milliseconds
    }

    /// The end of the year 9999, in seconds since 1970.
    private static let lastTime = 253_402_300_799.0

    package func array(_ member: Member) throws(RequestError) -> [JSON]? {
        guard let value = value(member) else { return nil }
        guard case .array(let elements) = value else {
            throw .invalid(member.name, "`\(member.name)` must be an array.")
        }
        return elements
    }

    package func object(_ member: Member) throws(RequestError) -> JSONObject? {
        guard let value = value(member) else { return nil }
        guard case .object(let object) = value else {
            throw .invalid(member.name, "`\(member.name)` must be an object.")
        }
        return object
    }
}
