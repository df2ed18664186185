import TestServer

extension LineClient {
    /// A client of a service, which may be killed at any time.
    convenience init(service path: String) throws { try self.init("unix:\(path)", isResetAnEnd: true) }

    /// Gives a probe an order and returns the answer.
    @discardableResult
    func order(_ line: String) throws -> String {
        let reply = try ask(line)
        guard !reply.hasPrefix("error ") else { throw Failure("\(line): \(reply)") }
        return reply
    }
}
