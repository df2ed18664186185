import Foundation

extension LineClient {
    /// An integer member of a reply, which stands in it once.
    package static func integer(_ name: String, in line: String) -> Int? {
        guard let place = line.range(of: "\"\(name)\":") else { return nil }
        return Int(line[place.upperBound...].prefix { $0.isNumber || $0 == "-" })
    }

    /// The epoch of the bus at the other end.
    package func epoch() throws -> String {
        let reply = try ask(#"{"op":"hello"}"#)
        guard let place = reply.range(of: #""epoch":""#) else { throw Failure(reply) }
        return String(reply[place.upperBound...].prefix { $0 != "\"" })
    }
}
