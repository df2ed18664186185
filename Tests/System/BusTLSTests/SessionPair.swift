import BusTLS
import Foundation
import TestSupport

/// Two ends of a connection in memory, between which bytes go in pieces of any length.
final class SessionPair {
    let client: TLSSession
    let server: TLSSession
    /// What goes to the server, as it went.
    private(set) var recorded: [UInt8] = []

    init(client: TLSContext, server: TLSContext, host: String = "localhost") {
        self.client = TLSSession(client, as: .client(host: host))
        self.server = TLSSession(server, as: .server)
    }

    /// Moves what one end has for the other, at most so many bytes; false if there was nothing.
    @discardableResult
    func move(from sender: TLSSession, to receiver: TLSSession, atMost most: Int = .max) -> Bool {
        let piece = Array(sender.output.prefix(most))
        if piece.isEmpty { return false }
        sender.sent(piece.count)
        if receiver === server { recorded += piece }
        piece.withUnsafeBytes { receiver.receive($0) }
        return true
    }

    /// The failures of both ends; nil where there is none.
    func shakeHands() -> (client: TLSFailure?, server: TLSFailure?) {
        var (clientFailure, serverFailure): (TLSFailure?, TLSFailure?)
        var isMoving = true
        while isMoving {
            clientFailure = clientFailure ?? Self.advance(client)
            isMoving = move(from: client, to: server)
            serverFailure = serverFailure ?? Self.advance(server)
            isMoving = move(from: server, to: client) || isMoving
        }
        // With TLS 1.3 a client learns only now that its certificate is refused.
        if clientFailure == nil { clientFailure = Self.failure { _ = try read(client) } }
        return (clientFailure, serverFailure)
    }

    private static func advance(_ session: TLSSession) -> TLSFailure? {
        failure { _ = try session.shakeHands() }
    }

    private static func failure(_ body: () throws -> Void) -> TLSFailure? {
        do {
            try body()
            return nil
        } catch {
            return error as? TLSFailure
        }
    }

    /// What has come for one end; nil once the other has finished.
    func read(_ session: TLSSession) throws -> [UInt8]? {
        var all: [UInt8] = []
        var space = [UInt8](repeating: 0, count: 5000)
        while true {
            switch try space.withUnsafeMutableBytes({ try session.read(into: $0) }) {
            case .bytes(let count): all += space[..<count]
            case .nothingYet: return all
            case .end: return all.isEmpty ? nil : all
            }
        }
    }
}

extension TLSSession {
    func write(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try write($0) } }
    func write(_ text: String) throws { try write(Array(text.utf8)) }
}

/// Bytes of a file.
func contents(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }
