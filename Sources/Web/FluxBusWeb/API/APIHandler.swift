import BusHooks
import BusJSON
import FluxBus
import FlyingFox
import FoundationEssentials

/// The bus over plain HTTP: what is asked under `/v1`, and the documents that describe it.
struct APIHandler: Sendable {
    let bus: BusAccess
    let sessions: Sessions?
    /// By which programs act as this server, where the bus knows it without a token.
    let token: [UInt8]?
    let guesses: Guesses
    let conversations: Conversations
    let mostConversations: Int

    /// The longest that a request may wait for the bus.
    let patience: Duration

    // MARK: - Who asks

    /// - Parameter isOwnPage: Whether the request comes from this server's page, if it is a browser's.
    private func caller(_ request: HTTPRequest, isOwnPage: Bool) throws(Problem) -> Caller {
        let address = request.headers[HTTPHeader(RequestHead.addressField)]
        if let field = request.headers[.authorization] {
            guard let given = Bearer.token(in: field) else { throw Problem(Self.unauthorized) }
            guard sessions != nil else { return Caller(address: address, token: given) }
            guard let token, Secret.isSame(given.utf8, token) else { throw Problem(Self.unauthorized) }
            return Caller(address: address)
        }
        let cookie = request.headers[.cookie]
        guard let sessions, sessions.isSignedIn(cookie) else { throw Problem(Self.unauthorized) }
        guard isOwnPage else {
            throw Problem(
                BusError(.forbidden, "A cookie is for this server's own page; programs send a bearer token."))
        }
        return Caller(address: address, isSignedIn: { sessions.isSignedIn(cookie) })
    }

    private static let unauthorized = BusError(
        .unauthorized, "Give a token in the header field Authorization, as Bearer.")

    // MARK: - Answers

    /// - Parameter hooks: Those that the description names.
    func answer(_ request: HTTPRequest, isOwnPage: Bool, _ hooks: [Hook]) async -> HTTPResponse {
        var guess: Guesses.Guess?
        var code: BusError.Code?
        defer { if let guess { guesses.end(guess, code) } }
        let deadline = Deadline(after: patience)
        do throws(Problem) {
            let caller = try caller(request, isOwnPage: isOwnPage)
            if let token = caller.token { guess = try await begin(token, from: caller.address) }
            switch request.path {
            case "/openapi.json", "/asyncapi.json":
                guard request.method == .GET || request.method == .HEAD else {
                    throw Problem(methods: "GET, HEAD")
                }
                let types = try await ask([BusRequest("types")], caller, deadline)[0]["types"]?.array ?? []
                let description = APIDescription(types, hooks)
                return Self.json(request.path == "/openapi.json" ? description.openAPI : description.asyncAPI)
            default:
                return try await answer(try await call(request), caller, request, deadline)
            }
        } catch {
            code = error.error.code
            return error.response
        }
    }

    /// The bus makes all who come from here wait for each other's wrong tokens, so it is asked about few.
    private func begin(_ token: String, from address: String?) async throws(Problem) -> Guesses.Guess {
        do throws(Guesses.TooMany) {
            return try await guesses.begin(token, from: address)
        } catch {
            throw Problem(error)
        }
    }

    private func call(_ request: HTTPRequest) async throws(Problem) -> APICall {
        guard let body = try? await request.bodyData else {
            throw Problem(BusError(.parseError, "The body can't be read."))
        }
        var fields: [String: String] = [:]
        for name in APICall.Source.names {
            fields[name] = request.headers[HTTPHeader(name)]
        }
        let source = APICall.Source(
            request.method.rawValue, Array(APICall.Source.segments(request.path).dropFirst()),
            query: APICall.Source.parameters(request.target.query()),
            body: Array(body),
            fields: fields)
        do throws(APICall.Refusal) {
            return try APICall(source)
        } catch {
            switch error {
            case .notFound:
                throw Problem(
                    BusError(
                        .unknownOperation, "There is nothing at this path; /openapi.json lists what there is."
                    ))
            case .methods(let methods): throw Problem(methods: methods)
            case .invalid(let error): throw Problem(error)
            }
        }
    }

    private func answer(
        _ call: APICall, _ caller: Caller, _ request: HTTPRequest, _ deadline: Deadline
    ) async throws(Problem) -> HTTPResponse {
        switch call.answer {
        case .events:
            guard request.version == .http11 else {
                throw Problem(
                    BusError(.invalidRequest, "Events as they happen need HTTP/1.1."),
                    status: HTTPStatusCode(505, phrase: "HTTP Version Not Supported"))
            }
            return try await events(call, caller)
        case .state(let store) where call.request["revision"] == nil && call.request["time"] == nil:
            return try await state(of: store, call, caller, request.headers[.ifNoneMatch], deadline)
        case .state(let store):
            return Self.json(try await ask([call.request], caller, deadline)[0]["states"]?[store] ?? .null)
        case .reply:
            let reply: JSONObject
            do throws(Problem) {
                reply = try await ask([call.request], caller, deadline)[0]
            } catch {
                let isFailed =
                    call.isConditional && [.conflict, .exists, .unknownStore].contains(error.error.code)
                throw Problem(
                    call.creates ? Self.inTermsOfHTTP(error.error) : error.error,
                    status: isFailed ? .preconditionFailed : nil)
            }
            var response = Self.json(.object(reply))
            if call.creates, reply["created"] == true { response.statusCode = .created }
            return response
        }
    }

    /// A refused `create`, without the member of the wire that a `PUT` does not have.
    private static func inTermsOfHTTP(_ error: BusError) -> BusError {
        let message = error.message.replacing("say `ifMissing`", with: "replace it by a PUT with `If-Match`")
        return BusError(error.code, message, details: error.details)
    }

    /// A store, with the revision of its last change as its tag: read until nothing comes between the two.
    private func state(
        of store: String, _ call: APICall, _ caller: Caller, _ known: String?, _ deadline: Deadline
    ) async throws(Problem) -> HTTPResponse {
        let revision = BusRequest("stores", ["match": .string(store)])
        for _ in 0..<8 {
            let replies = try await ask([revision, call.request, revision], caller, deadline)
            guard let tag = replies[0]["stores"]?[0]?["revision"],
                tag == replies[2]["stores"]?[0]?["revision"]
            else { continue }
            let isKnown = APICall.isKnown(tag.encoded, in: known)
            var response =
                isKnown ? HTTPResponse.make(.notModified) : Self.json(replies[1]["states"]?[store] ?? .null)
            response.headers[.eTag] = "\"\(tag.encoded)\""
            return response
        }
        // It changes without a pause, so a tag would be wrong at once.
        return Self.json(
            try await ask([call.request], caller, deadline)[0]["states"]?[store] ?? .null)
    }

    private func events(_ call: APICall, _ caller: Caller) async throws(Problem) -> HTTPResponse {
        guard conversations.count < mostConversations else {
            throw Problem(
                BusError(
                    .limit, "\(mostConversations) connections to the bus are open; close one, and try again.")
            )
        }
        let source = EventFeed.Source(
            bus: bus, caller: caller, request: call.request, place: call.place, pool: conversations.pool,
            patience: min(patience, EventFeed.patience))
        let first: EventFeed.Subscription?
        do throws(BusError) {
            first = try await source.subscribe(from: call.place)
            if let token = caller.token { guesses.addRight(token) }
        } catch {
            // A browser gives up at a status that is none of success. One that comes back while the bus is away is kept.
            guard call.place != nil, [.unreachable, .closed, .timedOut].contains(error.code) else {
                throw Problem(error)
            }
            first = nil
        }
        let feed = conversations.begin { EventFeed(source, first, whenOver: $0) }
        var response = HTTPResponse.make(.ok, type: "text/event-stream")
        response.payload = .httpBody(HTTPBodySequence(from: feed))
        response.headers[.contentType] = "text/event-stream"
        response.headers[HTTPHeader("X-Accel-Buffering")] = "no"
        return response
    }

    static func json(_ value: JSON) -> HTTPResponse {
        .make(.ok, Data((value.encoded + "\n").utf8), type: "application/json")
    }

    // MARK: - Asking the bus

    /// The members of the replies, without those of the wire.
    func ask(
        _ requests: [BusRequest], _ caller: Caller, _ deadline: Deadline
    ) async throws(Problem) -> [JSONObject] {
        let result = await BusAccess.ask { [bus] () throws(BusError) in
            let connection = try bus.connect(for: caller, until: deadline)
            var replies: [JSONObject] = []
            for request in requests {
                var reply = try Self.exchange(request, connection, deadline)
                reply["id"] = nil
                reply["ok"] = nil
                replies.append(reply)
            }
            return replies
        }
        do throws(BusError) {
            let replies = try result.get()
            if let token = caller.token { guesses.addRight(token) }
            return replies
        } catch {
            throw Problem(error)
        }
    }

    /// What was sent and not answered may have been committed.
    private static func exchange(
        _ request: BusRequest, _ connection: BusConnection, _ deadline: Deadline
    ) throws(BusError) -> JSONObject {
        do throws(BusError) {
            return try connection.request(request, until: deadline)
        } catch {
            guard [.closed, .timedOut].contains(error.code),
                ["dispatch", "create", "drop"].contains(request.op), request["dryRun"] != true
            else {
                throw error
            }
            throw BusError(
                .outcomeUnknown,
                "The bus did not answer, and may have committed this; send it again with the same Idempotency-Key, or look."
            )
        }
    }
}

/// Why a request is answered with an error: the bus's, or one of its own.
struct Problem: Error {
    let error: BusError
    let status: HTTPStatusCode
    private var fields: [(String, String)] = []

    init(_ error: BusError, status: HTTPStatusCode? = nil, after seconds: Int? = nil) {
        self.error = error
        self.status = status ?? Self.status(of: error.code)
        if let seconds { fields.append(("Retry-After", String(seconds))) }
        if error.code == .unauthorized { fields.append(("WWW-Authenticate", "Bearer")) }
    }

    static let nothing = Problem(BusError(.unknownOperation, "There is nothing here."))
    static let misdirected = Problem(
        BusError(
            .invalidRequest, "This server does not have that name; start it with --host NAME if it should."),
        status: HTTPStatusCode(421, phrase: "Misdirected Request"))

    init(_ limit: Guesses.TooMany) { self.init(BusError(.limit, limit.sentence), after: limit.seconds) }

    init(methods: String) {
        self.init(
            BusError(.invalidRequest, "This method is not allowed here; there are: \(methods)."),
            status: HTTPStatusCode(405, phrase: "Method Not Allowed"))
        fields.append(("Allow", methods))
    }

    var response: HTTPResponse {
        var members = error.details
        members["code"] = .string(error.code.rawValue)
        members["message"] = .string(error.message)
        var response = HTTPResponse.make(
            status, Data((JSON.object(["error": .object(members)]).encoded + "\n").utf8),
            type: "application/json")
        for (name, value) in fields { response.headers[HTTPHeader(name)] = value }
        return response
    }

    /// The status that a code of the wire has over HTTP.
    static func status(of code: BusError.Code) -> HTTPStatusCode {
        switch code {
        case .parseError, .invalidRequest, .invalidPayload: .badRequest
        case .unauthorized: .unauthorized
        case .forbidden: .forbidden
        case .unknownOperation, .unknownType, .unknownStore, .unknownAction, .unknownTimer, .unknownClient:
            .notFound
        case .conflict, .exists: .conflict
        case .gone: .gone
        case .tooLarge: HTTPStatusCode(413, phrase: "Content Too Large")
        case .rejected: HTTPStatusCode(422, phrase: "Unprocessable Content")
        case .limit: .tooManyRequests
        case .unavailable, .unreachable, .closed: .serviceUnavailable
        case .timedOut, .outcomeUnknown: .gatewayTimeout
        default: .internalServerError
        }
    }
}

extension BusError {
    /// Why a body is none that the bus takes, with the codes of the wire.
    init(body error: JSONError) {
        self =
            error.reason == .tooDeep
            ? BusError(.tooLarge, "The body is nested too deeply (byte \(error.offset)).")
            : BusError(.parseError, "The body is not JSON: \(error).")
    }
}

/// A token in the header field Authorization.
enum Bearer {
    static func token(in field: String?) -> String? {
        guard let field, field.lowercased().hasPrefix("bearer ") else { return nil }
        let token = String(field.dropFirst(7).drop { $0 == " " })
        return token.isEmpty ? nil : token
    }
}
