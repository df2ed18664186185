import BusJSON
import BusMetrics
import CInspector
import CZlib
import FluxBus
import FlyingFox
import FoundationEssentials

/// All that is answered over HTTP.
struct WebHandler: HTTPHandler {
    let hosts: HostPolicy
    /// Nil where browsers bring a token of the bus.
    let sessions: Sessions?
    let bus: BusAccess
    let conversations: Conversations
    let metricsToken: [UInt8]?
    /// Wrong tokens of the bus.
    let guesses: Guesses
    let memory: HealthMemory
    /// Seconds since 1970.
    let now: @Sendable () -> Int
    let isSecure: Bool
    let api: APIHandler
    let origins: Origins
    let hooks: HookHandler

    func handleRequest(_ request: HTTPRequest) async -> HTTPResponse {
        let response = await answer(request)
        return request.method == .HEAD ? response.withoutBody() : response
    }

    private func answer(_ request: HTTPRequest) async -> HTTPResponse {
        guard hosts.knows(request.headers[.host]) else {
            return await origins.answer(request) { _ in Problem.misdirected.response }
        }
        switch request.path {
        case "/": return file("index.html", request)
        case "/session": return await session(request)
        case "/bus": return await webSocket(request)
        case "/metrics": return isReading(request) ? await metrics(request) : notAllowed("GET, HEAD")
        case "/health": return isReading(request) ? await remembered(request) : notAllowed("GET, HEAD")
        case "/healthz": return isReading(request) ? await health() : notAllowed("GET, HEAD")
        case "/openapi.json", "/asyncapi.json", "/v1": return await bus(request)
        case let path where path.hasPrefix("/hooks/"):
            return await hooks.answer(request, String(path.dropFirst("/hooks/".count)))
        case let path where path.hasPrefix("/v1/"): return await bus(request)
        case let path where path.hasPrefix("/inspector/"):
            return file(String(path.dropFirst("/inspector/".count)), request)
        default: return notFound
        }
    }

    private var notFound: HTTPResponse { Problem.nothing.response }

    private func notAllowed(_ methods: String) -> HTTPResponse {
        var response = HTTPResponse.sentence(
            HTTPStatusCode(405, phrase: "Method Not Allowed"), "This method is not allowed here.")
        response.headers[HTTPHeader("Allow")] = methods
        return response
    }

    private func isReading(_ request: HTTPRequest) -> Bool {
        request.method == .GET || request.method == .HEAD
    }

    // MARK: - The page

    private func file(_ name: String, _ request: HTTPRequest) -> HTTPResponse {
        guard isReading(request) else { return notAllowed("GET, HEAD") }
        guard let file = InspectorFiles.all[name] else { return notFound }
        let tags = (request.headers[.ifNoneMatch] ?? "").split(separator: ",").map {
            $0.drop { $0 == " " }
        }
        let packed = Gzip.isAccepted(by: request.headers[HTTPHeader("Accept-Encoding")]) ? file.packed : nil
        let tag = packed == nil ? file.tag : file.packedTag
        let isKnown = tags.contains { $0 == tag || $0 == "W/" + tag || $0 == "*" }
        var response = HTTPResponse.make(
            .ok, packed ?? file.bytes, type: file.contentType, fields: SecurityFields.file)
        response.headers[.eTag] = tag
        response.headers[HTTPHeader("Vary")] = "Accept-Encoding"
        if packed != nil { response.headers[HTTPHeader("Content-Encoding")] = "gzip" }
        guard isKnown else { return response }
        response.statusCode = .notModified
        return response.withoutBody()
    }

    // MARK: - Signing in

    private func session(_ request: HTTPRequest) async -> HTTPResponse {
        switch request.method {
        case .GET: return sessionState(request)
        case .POST: return await signIn(request)
        case .DELETE: return signOut(request)
        default: return notAllowed("GET, POST, DELETE")
        }
    }

    private func isSignedIn(_ request: HTTPRequest) -> Bool {
        !hosts.isForeign(request) && sessions?.isSignedIn(request.headers[.cookie]) ?? false
    }

    private func sessionState(_ request: HTTPRequest) -> HTTPResponse {
        let isSignedIn = isSignedIn(request)
        var state: JSONObject = [
            "signIn": .string(sessions == nil ? "token" : "link"), "signedIn": .bool(isSignedIn),
        ]
        // Strangers are told nothing of the machine.
        if isSignedIn {
            state["bus"] = .string(bus.address.description)
            state["users"] = .object(LocalUsers.names())
        }
        return .make(.ok, Data((state.encoded + "\n").utf8), type: "application/json")
    }

    private static let foreign = "Only this server's own page may ask for that."

    private func isOwnPage(_ request: HTTPRequest) -> Bool {
        hosts.allows(origin: request.headers[HTTPHeader("Origin")], host: request.headers[.host])
    }

    private func signIn(_ request: HTTPRequest) async -> HTTPResponse {
        guard isOwnPage(request) else { return .sentence(.forbidden, Self.foreign) }
        guard let sessions else {
            return .sentence(.notFound, "Send a token of the bus in the first line of /bus instead.")
        }
        guard let body = try? await request.bodyData else {
            return .sentence(.badRequest, "The token could not be read.")
        }
        switch sessions.signIn(Array(body)) {
        case .cookie(let value):
            var response = HTTPResponse.make(.noContent)
            response.headers[.setCookie] = cookie(value, SessionCookie.lifetime)
            return response
        case .wrong:
            return .sentence(
                .forbidden,
                "This link has expired or was already used; run fluxbus web for a new one."
            )
        case .tooMany(let seconds): return tooMany(Guesses.TooMany(seconds: seconds))
        }
    }

    private func tooMany(_ limit: Guesses.TooMany) -> HTTPResponse {
        var response = HTTPResponse.sentence(
            HTTPStatusCode(429, phrase: "Too Many Requests"), limit.sentence)
        response.headers[HTTPHeader("Retry-After")] = String(limit.seconds)
        return response
    }

    private func signOut(_ request: HTTPRequest) -> HTTPResponse {
        guard isOwnPage(request) else { return .sentence(.forbidden, Self.foreign) }
        if let sessions, isSignedIn(request) {
            do throws(WebFailure) {
                try sessions.signOut()
            } catch {
                return .sentence(.internalServerError, error.description)
            }
            conversations.endSignedOut()
        }
        var response = HTTPResponse.make(.noContent)
        response.headers[.setCookie] = cookie("", 0)
        return response
    }

    private func cookie(_ value: String, _ lifetime: Int) -> String {
        "\(SessionCookie.name)=\(value); Path=/; Max-Age=\(lifetime); HttpOnly; SameSite=Strict"
            + (isSecure ? "; Secure" : "")
    }

    // MARK: - The bus

    private func webSocket(_ request: HTTPRequest) async -> HTTPResponse {
        guard request.method == .GET else { return notAllowed("GET") }
        guard isOwnPage(request) else { return .sentence(.forbidden, Self.foreign) }
        guard sessions == nil || isSignedIn(request) else {
            return .sentence(.unauthorized, "Sign in first: open the link that fluxbus-web printed.")
        }
        guard conversations.count < api.mostConversations else {
            return .sentence(
                .serviceUnavailable,
                "\(api.mostConversations) connections to the bus are open; close a page, and try again.")
        }
        let cookie = request.headers[.cookie]
        let browser = Caller(
            address: request.headers[HTTPHeader(RequestHead.addressField)],
            isSignedIn: { [sessions] in sessions?.isSignedIn(cookie) ?? true })
        let handler = WebSocketHTTPHandler(handler: conversations.handler(bus, with: browser))
        guard var response = try? await handler.handleRequest(request) else {
            return .sentence(.internalServerError, "The WebSocket handshake failed.")
        }
        if response.statusCode != .switchingProtocols {
            response.headers[.contentType] = "text/plain; charset=utf-8"
        }
        for field in SecurityFields.data { response.headers[HTTPHeader(field.name)] = field.value }
        return response
    }

    private func bus(_ request: HTTPRequest) async -> HTTPResponse {
        await origins.answer(request) {
            let isOwn = isReading($0) ? !hosts.isForeign($0) : isOwnPage($0)
            return await api.answer($0, isOwnPage: isOwn, hooks.all)
        }
    }

    private func health() async -> HTTPResponse {
        do throws(BusError) {
            try await bus.check()
            return .make(.ok, Data("ok\n".utf8))
        } catch {
            // Everybody may ask, and learns nothing of the machine.
            return .sentence(.serviceUnavailable, BusAccess.silent.message)
        }
    }

    private func metrics(_ request: HTTPRequest) async -> HTTPResponse {
        await counted(request) { token throws(BusError) in
            let stats =
                if let token { try await bus.stats(token: token) } else { try await bus.ownStats() }
            let form: BusMetrics.Form =
                (request.headers[HTTPHeader("Accept")] ?? "").contains("application/openmetrics-text")
                ? .openMetrics : .prometheus
            return .make(.ok, Data(BusMetrics.text(of: stats, as: form).utf8), type: form.contentType)
        }
    }

    /// The counters of the last hour.
    private func remembered(_ request: HTTPRequest) async -> HTTPResponse {
        await counted(request) { token throws(BusError) in
            // Whoever brings a token of the bus is shown what the bus would show.
            if let token, try await bus.stats(token: token)["totals"] == nil {
                return .sentence(.forbidden, "The counters are for those who may manage the bus.")
            }
            return .make(.ok, Data((memory.encoded(now: now()) + "\n").utf8), type: "application/json")
        }
    }

    /// Answers whoever may see counters: who has signed in, or shows the token of scrapers or one of the bus.
    private func counted(
        _ request: HTTPRequest, _ answer: (_ token: String?) async throws(BusError) -> HTTPResponse
    ) async -> HTTPResponse {
        let given = Bearer.token(in: request.headers[.authorization])
        var guess: Guesses.Guess?
        if sessions != nil {
            let isKnown =
                given.flatMap { given in metricsToken.map { Secret.isSame(given.utf8, $0) } } ?? false
            guard isKnown || isSignedIn(request) else { return unauthorized() }
        } else {
            guard let given else { return unauthorized() }
            // The bus makes all who come from here wait for each other's wrong tokens, so it is not asked about many.
            do throws(Guesses.TooMany) {
                let address = request.headers[HTTPHeader(RequestHead.addressField)]
                guess = try await guesses.begin(given, from: address)
            } catch {
                return tooMany(error)
            }
        }
        var code: BusError.Code?
        defer { if let guess { guesses.end(guess, code) } }
        do throws(BusError) {
            guard guess != nil, let given else { return try await answer(nil) }
            let response = try await answer(given)
            guesses.addRight(given)
            return response
        } catch {
            code = error.code
            switch error.code {
            case .unauthorized: return unauthorized(error.message)
            case .forbidden: return .sentence(.forbidden, error.message)
            default: return .sentence(.serviceUnavailable, error.message)
            }
        }
    }

    private func unauthorized(
        _ sentence: String = "Give a token in the header field Authorization, as Bearer."
    ) -> HTTPResponse {
        var response = HTTPResponse.sentence(.unauthorized, sentence)
        response.headers[HTTPHeader("WWW-Authenticate")] = "Bearer"
        return response
    }
}

extension HTTPResponse {
    /// An answer with the header fields that all have.
    static func make(
        _ status: HTTPStatusCode, _ body: Data = Data(), type: String = "text/plain; charset=utf-8",
        fields: [(name: String, value: String)] = SecurityFields.data
    ) -> HTTPResponse {
        var headers = HTTPHeaders()
        for field in fields { headers[HTTPHeader(field.name)] = field.value }
        if !body.isEmpty { headers[.contentType] = type }
        return HTTPResponse(statusCode: status, headers: headers, body: body)
    }

    /// One sentence.
    static func sentence(_ status: HTTPStatusCode, _ text: String) -> HTTPResponse {
        make(status, Data((text + "\n").utf8))
    }

    /// The same without its body, whose length it still tells: for HEAD, and for what a browser has already.
    func withoutBody() -> HTTPResponse {
        guard case .httpBody(let body) = payload else { return self }
        var headers = headers
        headers[.contentLength] = String(body.count ?? 0)
        return HTTPResponse(statusCode: statusCode, headers: headers)
    }
}

/// Header fields of every answer: what a page of ours may do, which is little, and that others may not use what we say.
enum SecurityFields {
    static let all: [(name: String, value: String)] = [
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
                + "form-action 'none'; frame-ancestors 'none'"
        ),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
    ]

    /// For whatever is not the same for everybody and always.
    static let data = all + [("Cache-Control", "no-store")]
    /// For the page's files: kept, and asked for again by their tags.
    static let file = all + [("Cache-Control", "no-cache")]
}

/// The page's files, which are part of the program.
package enum InspectorFiles {
    package struct File: Sendable {
        package let name: String
        package let bytes: Data
        /// The same compressed, where that is shorter.
        package let packed: Data?
        package let contentType: String
        /// Another one whenever the bytes are others, compressed or not.
        package let tag: String
        package let packedTag: String
    }

    package static let all: [String: File] = {
        var files: [String: File] = [:]
        for index in 0..<inspector_file_count() {
            let entry = inspector_file_at(index)
            let bytes = UnsafeRawBufferPointer(start: entry.bytes, count: entry.length)
            let name = String(cString: entry.name)
            let digest = Secret.hexadecimal(Secret.hash(bytes).prefix(16))
            files[name] = File(
                name: name, bytes: Data(bytes), packed: Gzip.packed(Data(bytes)),
                contentType: contentType(of: name), tag: "\"\(digest)\"", packedTag: "\"\(digest)-gzip\"")
        }
        return files
    }()

    private static func contentType(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "svg": "image/svg+xml"
        default: "text/plain; charset=utf-8"
        }
    }
}

/// Compression of what is served over and over: once, when the program starts.
enum Gzip {
    /// The bytes as `Content-Encoding: gzip` has them; nil if that would not be shorter.
    static func packed(_ bytes: Data) -> Data? {
        var stream = z_stream()
        guard zlib_begin_gzip(&stream) == Z_OK else { return nil }
        defer { deflateEnd(&stream) }
        // What does not fit is not shorter.
        var packed = [UInt8](repeating: 0, count: bytes.count)
        var input = Array(bytes)
        let count: Int? = input.withUnsafeMutableBufferPointer { input in
            packed.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                return deflate(&stream, Z_FINISH) == Z_STREAM_END ? Int(stream.total_out) : nil
            }
        }
        return count.map { Data(packed[..<$0]) }
    }

    /// Whether a reader takes it: `gzip` among the codings of `Accept-Encoding`, and not with a weight of 0.
    static func isAccepted(by field: String?) -> Bool {
        for coding in (field ?? "").lowercased().split(separator: ",") {
            let parts = coding.split(separator: ";").map { $0.filter { !$0.isWhitespace } }
            guard let name = parts.first, name == "gzip" || name == "*" else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) }
            return weight ?? 1 > 0
        }
        return false
    }
}
