import BusEffects
import BusHooks
import BusJSON
import BusSource
import FluxBus
import FlyingFox
import Synchronization

/// Requests of other programs at `/hooks/NAME`: what each has to show, and the dispatch that is made of it.
final class HookHandler: Sendable {
    private let api: APIHandler
    private let now: @Sendable () -> Int
    private let say: @Sendable (String) -> Void
    private let guesses: Guesses
    /// The directory of the unit's credentials.
    private let credentials: String?
    private let current = Mutex<[String: Hook]>([:])
    private let named = Mutex<Set<String>>([])
    /// What was said last of each hook that can't work: whoever asks again and again fills no journal.
    private let said = Mutex<[String: String]>([:])

    init(_ api: APIHandler, _ setup: WebServer.Setup) {
        (self.api, now, say, credentials) = (api, setup.now, setup.say, setup.credentials)
        guesses = Guesses(now: now)
    }

    /// Puts hooks in force, and says of which the secret can't be read.
    func use(_ hooks: [Hook]) {
        current.withLock { $0 = Dictionary(uniqueKeysWithValues: hooks.map { ($0.name, $0) }) }
        named.withLock { $0 = Set(hooks.flatMap(\.fields) + ["content-type"]) }
        said.withLock { $0 = [:] }
        for hook in hooks {
            _ = try? secrets(of: hook)
            _ = try? token(of: hook)
        }
    }

    /// Those in force, ascending by name.
    var all: [Hook] { current.withLock { $0.values.sorted { $0.name < $1.name } } }

    /// The header fields that they read.
    var fields: Set<String> { named.withLock { $0 } }

    func answer(_ request: HTTPRequest, _ name: String) async -> HTTPResponse {
        do throws(Problem) {
            guard let hook = current.withLock({ $0[name] }) else {
                throw Problem(
                    BusError(.unknownOperation, "There is no hook of this name; a file of --hooks makes one.")
                )
            }
            guard request.method == .POST else { throw Problem(methods: "POST") }
            guard let body = try? await request.bodyData else {
                throw Problem(BusError(.parseError, "The body can't be read."))
            }
            try check(hook, request, Array(body))
            let data = try Self.data(of: hook, request, Array(body))
            guard hook.isMeant(data) else { return APIHandler.json(["ignored": true]) }
            let members: JSONObject
            do throws(EffectRefusal) {
                members = try hook.dispatch(data)
            } catch {
                throw Problem(
                    BusError(.invalidRequest, "The hook makes no dispatch of this request: \(error.reason)."))
            }
            var dispatch = BusRequest("dispatch", object: members)
            APICall.addTrace(request.headers[HTTPHeader("traceparent")], to: &dispatch)
            let caller = Caller(
                address: request.headers[HTTPHeader(RequestHead.addressField)], token: try token(of: hook),
                client: "hook/\(name)")
            let deadline = Deadline(after: api.patience)
            do throws(Problem) {
                return APIHandler.json(.object(try await api.ask([dispatch], caller, deadline)[0]))
            } catch {
                // It is this server's token that the bus refuses, and none of the request's.
                throw error.error.code == .unauthorized
                    ? fault(hook, "the bus: \(error.error.message)") : error
            }
        } catch {
            return error.response
        }
    }

    // MARK: - Secrets

    /// Whoever shows what is right is let in also while wrong ones are turned away: nobody keeps it out by guessing.
    private func check(_ hook: Hook, _ request: HTTPRequest, _ body: [UInt8]) throws(Problem) {
        let secrets = try secrets(of: hook)
        let (what, place): (String, String)
        let isRight: Bool?
        var time: Int?
        switch hook.check {
        case .token(let header, let file):
            (what, place) = ("secret", header ?? "Authorization, as Bearer")
            let given =
                header.map { request.headers[HTTPHeader($0)] }
                ?? Bearer.token(in: request.headers[.authorization])
            isRight = given.map { given in
                secrets.contains { Secret.isSame(given.utf8, Array(file.prefix.utf8) + $0) }
            }
        case .signature(let signature):
            (what, place) = ("signature", signature.header)
            let given = request.headers[HTTPHeader(signature.header)]
            let shown = given.flatMap(signature.shown)
            time = shown?.time
            isRight = given.map { _ in
                guard let shown else { return false }
                return secrets.contains { secret in
                    let right = Secret.signature(of: shown.start + body, with: secret)
                    return shown.codes.contains { Secret.isSame($0, right) }
                }
            }
        }
        switch isRight {
        case nil:
            throw Problem(
                BusError(.unauthorized, "Show the \(what) of this hook in the header field \(place)."))
        case false?:
            do throws(Guesses.TooMany) {
                try guesses.addWrong(from: request.headers[HTTPHeader(RequestHead.addressField)])
            } catch {
                throw Problem(error)
            }
            throw Problem(
                BusError(
                    .unauthorized,
                    "The \(what) in the header field \(place) is wrong; give both ends the same secret."))
        case true?: break
        }
        guard case .signature(let signature) = hook.check, let time, !signature.isTimely(time, now: now())
        else {
            return
        }
        throw Problem(
            BusError(
                .unauthorized,
                "This signature was made at \(time), and is good for \(signature.tolerance.components.seconds) s; send the request again, or set the clocks."
            ))
    }

    /// Read each time, so that a secret that is renewed counts at once.
    private func secrets(of hook: Hook) throws(Problem) -> [[UInt8]] {
        try read(hook) { () throws(WebFailure) in try hook.secrets(credentials) }
    }

    private func token(of hook: Hook) throws(Problem) -> String? {
        try read(hook) { () throws(WebFailure) in try hook.token(credentials) }
    }

    private func read<Value>(
        _ hook: Hook, _ body: () throws(WebFailure) -> Value
    ) throws(Problem) -> Value {
        do throws(WebFailure) {
            return try body()
        } catch {
            throw fault(hook, error.description)
        }
    }

    /// Tells the operator why a hook can't work, and whoever asks only that it can't.
    private func fault(_ hook: Hook, _ reason: String) -> Problem {
        if said.withLock({ $0.updateValue(reason, forKey: hook.name) }) != reason {
            say("hook \(hook.name): \(reason)")
        }
        return Problem(
            BusError(
                .unavailable,
                "This hook does not work now; its server's journal says why. Send it again later."))
    }

    // MARK: - What expressions see

    private static func data(of hook: Hook, _ request: HTTPRequest, _ body: [UInt8]) throws(Problem) -> JSON {
        var headers: JSONObject = [:]
        for name in hook.headers { headers[name] = request.headers[HTTPHeader(name)].map(JSON.string) }
        return [
            "headers": .object(headers), "query": try parameters(request.target.query()),
            "body": try self.body(request.headers[.contentType], body),
        ]
    }

    /// JSON whatever the sender calls it, for many call it a form; else a form, where it is one.
    private static func body(_ type: String?, _ bytes: [UInt8]) throws(Problem) -> JSON {
        if bytes.isEmpty { return .null }
        do throws(JSONError) {
            return try JSON(parsing: bytes)
        } catch {
            if type?.lowercased().hasPrefix("application/x-www-form-urlencoded") == true {
                return try parameters(String(decoding: bytes, as: UTF8.self))
            }
            throw Problem(BusError(body: error))
        }
    }

    private static func parameters(_ text: String) throws(Problem) -> JSON {
        var object: JSONObject = [:]
        for (name, value) in APICall.Source.parameters(text) {
            guard object[name] == nil else {
                throw Problem(BusError(.invalidRequest, "`\(name)` must be given once."))
            }
            object[name] = .string(value)
        }
        return .object(object)
    }
}

extension Hook {
    /// The secrets of its check.
    /// - Parameter credentials: The directory of the unit's credentials.
    fileprivate func secrets(_ credentials: String?) throws(WebFailure) -> [[UInt8]] {
        try SmallFile.secrets(Self.location(of: check.file, credentials))
    }

    /// The token of the bus; nil where the bus asks for none.
    fileprivate func token(_ credentials: String?) throws(WebFailure) -> String? {
        try tokenFile.map { file throws(WebFailure) in
            try SmallFile.token(Self.location(of: file, credentials))
        }
    }

    private static func location(
        of file: EffectFile, _ credentials: String?
    ) throws(WebFailure) -> String {
        do throws(EffectRefusal) {
            return try file.location(credentials: credentials)
        } catch {
            throw WebFailure(.configuration, error.reason)
        }
    }
}

extension WebServer.Setup {
    /// The names of its hooks, whose files and secrets are right. Credentials are looked at where there are some: outside of
    /// the unit there are none.
    func checkHooks() throws(WebFailure) -> [String] {
        let hooks = try readHooks()
        var faults: [String] = []
        for hook in hooks {
            let files = [hook.check.file, hook.tokenFile].compactMap(\.self)
            guard credentials != nil || files.allSatisfy({ $0.path.hasPrefix("/") }) else { continue }
            do throws(WebFailure) {
                _ = try hook.secrets(credentials)
                _ = try hook.token(credentials)
            } catch {
                faults.append("hook \(hook.name): \(error)")
            }
        }
        guard faults.isEmpty else { throw WebFailure(.configuration, faults.joined(separator: "\n")) }
        return hooks.map(\.name)
    }

    /// The hooks of its directory; none of them where something is wrong with one.
    func readHooks() throws(WebFailure) -> [Hook] {
        guard let directory = hooks else { return [] }
        var errors: [SourceError] = []
        let hooks = Hook.all(in: directory, &errors)
        let isKnown = BusAccess(bus, tls, token: nil, patience: patience).isKnownWithoutToken
        for hook in hooks {
            if hook.tokenFile == nil, !isKnown {
                errors.append(
                    SourceError(
                        "The bus at \(bus) asks for a token; name a file with one, as whose role the hook acts, by token-file.",
                        at: hook.place))
            } else if hook.tokenFile != nil, !bus.isRemote {
                errors.append(
                    SourceError(
                        "The bus at \(bus) knows this server by its user; leave token-file out.",
                        at: hook.place))
            }
        }
        guard errors.isEmpty else {
            throw WebFailure(.configuration, errors.inOrder.lines.joined(separator: "\n"))
        }
        return hooks
    }
}
