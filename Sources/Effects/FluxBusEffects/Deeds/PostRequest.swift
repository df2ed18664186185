import BusEffects
import BusHTTP
import BusJSON
import BusSource
import BusYAML
import CCurl
import Glibc

/// A request of `post`: what is sent, with the secrets of its files, and what an answer means.
///
/// Files are read each time, so that a secret that is renewed counts for the next attempt.
struct PostRequest: Sendable {
    private let task: PostTask
    private let body: JSON
    private let key: String
    private let traceparent: String?
    private let timeout: Duration
    private let credentials: String?

    /// - Parameters:
    ///   - key: The same for each attempt, by which a server can know one that it has handled.
    ///   - traceparent: The place in a trace of what it follows from.
    ///   - credentials: The directory of the unit's credentials.
    init(
        _ task: PostTask, body: JSON, key: String, traceparent: String?, timeout: Duration,
        credentials: String?
    ) {
        (self.task, self.body, self.key, self.traceparent) = (task, body, key, traceparent)
        (self.timeout, self.credentials) = (timeout, credentials)
    }

    /// What is sent. A refusal is a clause, and another attempt may help.
    func http() throws(EffectRefusal) -> HTTPRequest {
        var lines = ["User-Agent: fluxbus-effects", "Idempotency-Key: \(key)"]
        let names = Set(task.headers.map { $0.name.lowercased() })
        if !names.contains("content-type") { lines.append("Content-Type: application/json") }
        if names.contains("user-agent") { lines.removeFirst() }
        if let traceparent, !names.contains("traceparent") { lines.append("traceparent: \(traceparent)") }
        for header in task.headers {
            let value = try text(header.value)
            // libcurl leaves a header out that has no value, unless it ends so.
            lines.append(value.allSatisfy { $0 == " " } ? "\(header.name);" : "\(header.name): \(value)")
        }
        let address = try text(task.address)
        if let advice = HTTPAddress.advice(on: address) {
            throw EffectRefusal("the address can't be posted to: \(advice)")
        }
        return HTTPRequest(
            address, headers: lines, body: Array(body.encoded.utf8),
            connecting: min(timeout, EffectLimits.connecting), timeout: timeout,
            longestAnswer: EffectLimits.answer,
            trust: HTTPTrust(
                authority: try path(of: task.authority), certificate: try path(of: task.certificate),
                key: try path(of: task.key)))
    }

    private func path(of file: EffectFile?) throws(EffectRefusal) -> String? {
        try file.map { file throws(EffectRefusal) in try file.location(credentials: credentials) }
    }

    private func text(_ text: PostTask.Text) throws(EffectRefusal) -> String {
        switch text {
        case .text(let text): return text
        case .file(let file):
            let path = try file.location(credentials: credentials)
            let secret = String(decoding: try Self.bytes(of: path), as: UTF8.self)
            guard !secret.isEmpty else { throw EffectRefusal("\(path) is empty") }
            return try HTTPAddress.header(file.prefix + secret, path)
        }
    }

    /// What a file holds, without the line's end that editors end it with.
    private static func bytes(of path: String) throws(EffectRefusal) -> ArraySlice<UInt8> {
        do throws(SourceError) {
            let bytes = try FileReading.bytes(of: path)
            let end = bytes.lastIndex { $0 != 0x0a && $0 != 0x0d }
            return bytes[..<(end.map { $0 + 1 } ?? 0)]
        } catch {
            let words = error.message.hasSuffix(".") ? String(error.message.dropLast()) : error.message
            throw EffectRefusal("\(path): \(words)")
        }
    }

    // MARK: - Answers

    /// What an attempt has come to. The address may be a secret, so of why it failed only the host is told.
    func outcome(_ outcome: Transfer.Outcome, of request: HTTPRequest) -> EffectMachine.Outcome {
        let host = HTTPAddress.authority(of: request.url)
        switch outcome {
        case .answered(let status, let body, let retryAfter):
            guard let failure = Self.failure(status, body, host) else { return .succeeded }
            return .failed(
                failure, after: Self.statusesOfHaste.contains(status) ? .seconds(retryAfter) : .zero)
        case .failed(let failure):
            switch failure.code {
            // What was read of it is enough.
            case CURLE_WRITE_ERROR:
                return Self.failure(failure.status, [], host).map { .failed($0) } ?? .succeeded
            case CURLE_OPERATION_TIMEDOUT:
                return .failed("\(host) does not answer in time (\(failure.words))")
            case CURLE_COULDNT_CONNECT, CURLE_COULDNT_RESOLVE_HOST:
                return .failed("\(host): \(failure.words)" + (Self.hasNetwork ? "" : Self.advice))
            default: return .failed("\(host): \(failure.words)")
            }
        }
    }

    /// Too Many Requests and Service Unavailable: with these a server may say when it wants to be asked again.
    private static let statusesOfHaste = [429, 503]

    /// Why an answer is none, as a clause; nil: it is one.
    private static func failure(_ status: Int, _ body: [UInt8], _ host: Substring) -> String? {
        switch status {
        case 200..<300: return nil
        case 300..<400: return "\(host) redirects (\(status)), and redirects are not followed"
        default:
            let text = String(decoding: body.prefix(EffectLimits.words), as: UTF8.self)
            let line = String(text.map { $0.isNewline || $0.asciiValue.map { $0 < 0x20 } == true ? " " : $0 })
            return "\(host) answers \(status)" + (line.isEmpty ? "" : ": \(line)")
        }
    }

    /// Whether the sandbox lets this process have a network.
    private static var hasNetwork: Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        if descriptor >= 0 { close(descriptor) }
        return descriptor >= 0 || errno != EAFNOSUPPORT
    }

    private static let advice = "; the unit has no network: give it one, as fluxbus-effects(8) shows"
}
