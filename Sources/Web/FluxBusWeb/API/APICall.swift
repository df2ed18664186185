import BusJSON
import BusProtocol
import FluxBus
import FoundationEssentials

/// What a request under `/v1` asks of the bus: a request of the wire, and what is made of the reply. Pure.
package struct APICall: Sendable {
    /// What is answered.
    package enum Answer: Sendable, Equatable {
        /// The members of the bus's reply.
        case reply
        /// The state of one store; nil: the states of several, as the bus's reply has them.
        case state(String)
        /// Changes or actions as they happen, as server-sent events.
        case events
    }

    /// A request over HTTP, as far as it matters here.
    package struct Source: Sendable {
        package var method: String
        /// The segments of the path behind `/v1`, decoded.
        package var path: [String]
        package var query: [(name: String, value: String)]
        package var body: [UInt8]
        /// The header fields of `names`, by their names in lower case.
        package var fields: [String: String]

        /// The header fields that mean something.
        package static let names = [
            "if-match", "if-none-match", "idempotency-key", "last-event-id", "traceparent",
        ]

        package init(
            _ method: String, _ path: [String], query: [(name: String, value: String)] = [],
            body: [UInt8] = [], fields: [String: String] = [:]
        ) {
            (self.method, self.path, self.query) = (method, path, query)
            (self.body, self.fields) = (body, fields)
        }

        /// The segments of a path, decoded. The front has refused paths with an empty segment, or with a slash in one.
        package static func segments(_ path: String) -> [String] {
            path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
                .map { $0.removingPercentEncoding ?? String($0) }
        }

        /// What stands behind a question mark, in which a blank may be a plus.
        package static func parameters(_ query: String) -> [(name: String, value: String)] {
            query.split(separator: "&").map { pair in
                let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                    .map { String($0.map { $0 == "+" ? " " : $0 }) }
                    .map { $0.removingPercentEncoding ?? $0 }
                return (parts[0], parts.count > 1 ? parts[1] : "")
            }
        }
    }

    /// Why a request is no call.
    package enum Refusal: Error, Equatable {
        /// There is nothing at this path.
        case notFound
        /// There is, with other methods.
        case methods(String)
        case invalid(BusError)
    }

    package private(set) var request: BusRequest
    package private(set) var answer = Answer.reply
    /// What its client had last of the events.
    package private(set) var place: EventPlace?
    /// A store is made where there was none.
    package private(set) var creates = false
    /// The request holds only if its header fields say so, which HTTP has a status for.
    package private(set) var isConditional = false

    package init(_ source: Source) throws(Refusal) {
        let isRead = source.method == "GET" || source.method == "HEAD"
        switch (source.path.first, source.path.count) {
        case ("dispatch", 1), ("dispatch", 3), ("dispatch", 4):
            guard source.method == "POST" else { throw .methods("POST") }
            request = try source.path.count == 1 ? Self.dispatch(source) : Self.action(source)
            isConditional = source.fields["if-match"] != nil
        case ("stores", 3) where !isRead:
            guard source.method == "PUT" || source.method == "DELETE" else {
                throw .methods("GET, HEAD, PUT, DELETE")
            }
            request = try Self.change(source)
            isConditional = source.fields["if-match"] != nil || source.fields["if-none-match"] != nil
            creates = request.op == "create"
        case (let name?, let count):
            guard let reading = Self.readings[name], count <= reading.depth else { throw .notFound }
            // Of events the head alone tells nothing.
            let isStream = reading.op == "subscribe"
            guard isStream ? source.method == "GET" : isRead else {
                throw .methods(isStream ? "GET" : "GET, HEAD")
            }
            request = BusRequest(reading.op)
            var parameters = count == 3 ? Self.parametersOfOne : reading.parameters
            // The path names the type.
            if count == 2 { parameters["match"] = nil }
            try Parameters(parameters).add(source.query, to: &request)
            try address(source, reading)
        default: throw .notFound
        }
    }

    // MARK: - Reading

    private struct Reading {
        let op: String
        /// How many segments its path has at most.
        let depth: Int
        let parameters: [String: Parameters.Kind]
    }

    /// Those of a path that names one store.
    private static let parametersOfOne: [String: Parameters.Kind] = [
        "select": .list, "at": .moment, "fresh": .flag,
    ]

    private static let readings: [String: Reading] = [
        "stores": Reading(
            op: "get", depth: 3,
            parameters: [
                "match": .text, "where": .expression, "select": .list, "limit": .number, "after": .text,
                "at": .moment, "fresh": .flag,
            ]),
        "changes": Reading(
            op: "subscribe", depth: 1,
            parameters: [
                "match": .text, "where": .expression, "select": .list, "actions": .flag, "initial": .flag,
                "cause": .flag, "format": .text,
            ]),
        "history": Reading(
            op: "history", depth: 1,
            parameters: [
                "since": .number, "time": .time, "until": .number, "order": .text, "limit": .number,
                "type": .text, "store": .text, "by": .list, "action": .text, "where": .expression,
            ]),
        "blame": Reading(
            op: "blame", depth: 1,
            parameters: [
                "store": .text, "path": .text, "revision": .number, "time": .time, "at": .moment,
            ]),
        "samples": Reading(
            op: "samples", depth: 1,
            parameters: [
                "store": .text, "path": .text, "since": .number, "time": .time, "until": .number,
                "most": .number, "cause": .flag,
            ]),
        "types": Reading(op: "types", depth: 2, parameters: ["at": .moment]),
        "stats": Reading(op: "stats", depth: 1, parameters: [:]),
    ]

    /// What the path, and the header fields, say beside the parameters.
    private mutating func address(_ source: Source, _ reading: Reading) throws(Refusal) {
        switch (reading.op, source.path.count) {
        case ("get", 3):
            let store = source.path[1] + "/" + source.path[2]
            request.set("store", .string(store))
            answer = .state(store)
        case ("get", 2), ("types", 2): request.set("type", .string(source.path[1]))
        case ("get", _), ("subscribe", _):
            if request["match"] == nil { request.set("match", "*/*") }
        default: break
        }
        guard reading.op == "subscribe" else { return }
        answer = .events
        // A browser that comes back says what it had last.
        guard let last = source.fields["last-event-id"], !last.isEmpty else { return }
        place = EventPlace(last)
        if place == nil {
            throw .invalid(Parameters.wrong("Last-Event-ID", "is the id of an event: EPOCH:REVISION"))
        }
    }

    // MARK: - Changing

    /// The wire's `dispatch`, as it stands in the body.
    private static func dispatch(_ source: Source) throws(Refusal) -> BusRequest {
        var request = BusRequest("dispatch")
        try Parameters([:]).add(source.query, to: &request)
        for member in try object(source) ?? [:] {
            guard member.key != "id" else { continue }
            guard member.key != "op" else {
                if member.value == "dispatch" { continue }
                throw .invalid(Parameters.wrong("op", "is dispatch here, and may be left out"))
            }
            if member.key == "ack", member.value == false {
                throw .invalid(Parameters.wrong("ack", "can't be false here: HTTP answers every request"))
            }
            request.set(member.key, member.value)
        }
        if let match = source.fields["if-match"] {
            guard request["store"] != nil, request["ifRevision"] == nil else {
                throw .invalid(
                    Parameters.wrong(
                        "If-Match",
                        request["store"] == nil
                            ? "is for a dispatch to one store; say `ifRevision` in the body of any other"
                            : "says the same as `ifRevision` of the body; send one of them"))
            }
            request.set("ifRevision", .int(try revision(match)))
        }
        try addKey(source, to: &request)
        addTrace(source.fields["traceparent"], to: &request)
        return request
    }

    /// One action; the body is its payload.
    private static func action(_ source: Source) throws(Refusal) -> BusRequest {
        let path = source.path
        var request = BusRequest("dispatch")
        if path.count == 4 {
            request.set("store", .string(path[1] + "/" + path[2]))
        } else {
            request.set("type", .string(path[1]))
        }
        request.set("action", path.last.map(JSON.string))
        try Parameters(["dryRun": .flag, "in": .text, "at": .time, "timer": .text]).add(
            source.query, to: &request)
        request.set("payload", try object(source).map(JSON.object))
        if let match = source.fields["if-match"] { request.set("ifRevision", .int(try revision(match))) }
        try addKey(source, to: &request)
        addTrace(source.fields["traceparent"], to: &request)
        return request
    }

    /// Makes, replaces or drops a store.
    private static func change(_ source: Source) throws(Refusal) -> BusRequest {
        let store = JSON.string(source.path[1] + "/" + source.path[2])
        let match = source.fields["if-match"]
        let none = source.fields["if-none-match"]
        guard none == nil || none == "*" && source.method == "PUT" && match == nil else {
            throw .invalid(
                Parameters.wrong(
                    "If-None-Match", "is * here, for a PUT that creates the store, without If-Match"))
        }
        let expected = try match.flatMap { match throws(Refusal) in match == "*" ? nil : try revision(match) }
        var request: BusRequest
        let state = try object(source).map(JSON.object)
        if source.method == "DELETE" {
            request = BusRequest("drop", ["store": store, "ifRevision": expected.map(JSON.int)])
        } else if match == nil {
            request = BusRequest("create", ["store": store, "state": state])
        } else {
            var (drop, create): (JSONObject, JSONObject) = (
                ["op": "drop", "store": store], ["op": "create", "store": store]
            )
            drop["ifRevision"] = expected.map(JSON.int)
            create["state"] = state
            request = BusRequest("dispatch", ["actions": [.object(drop), .object(create)]])
        }
        try Parameters([:]).add(source.query, to: &request)
        try addKey(source, to: &request)
        return request
    }

    /// Has a dispatch say its place in a trace, from the header field `traceparent`. What comes later belongs to no trace, and what
    /// is not valid is ignored, as W3C's Trace Context requires.
    static func addTrace(_ field: String?, to request: inout BusRequest) {
        guard request["traceparent"] == nil, request["in"] == nil, request["at"] == nil, let field,
            Traceparent.isValid(field)
        else { return }
        request.set("traceparent", .string(field))
    }

    private static func addKey(_ source: Source, to request: inout BusRequest) throws(Refusal) {
        guard let key = source.fields["idempotency-key"].map(JSON.string) else { return }
        guard let own = request["key"] else { return request.set("key", key) }
        guard own == key else {
            throw .invalid(
                Parameters.wrong(
                    "Idempotency-Key", "is another key than `key` of the body; send one of them"))
        }
    }

    /// The body, which is an object; nil without one.
    private static func object(_ source: Source) throws(Refusal) -> JSONObject? {
        if source.body.isEmpty { return nil }
        do throws(JSONError) {
            if let object = try JSON(parsing: source.body).object { return object }
        } catch {
            throw .invalid(BusError(body: error))
        }
        throw .invalid(BusError(.parseError, "The body must be a JSON object."))
    }

    /// Whether a field `If-None-Match` names this revision of a store that exists.
    package static func isKnown(_ revision: String, in field: String?) -> Bool {
        guard let field else { return false }
        // Both kinds of tags compare alike here.
        let tags = field.split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } }
        return tags.contains { $0 == "*" || $0 == "\"\(revision)\"" || $0 == "W/\"\(revision)\"" }
    }

    /// The revision in a tag of a store.
    private static func revision(_ tag: String) throws(Refusal) -> Int {
        let digits = tag.dropFirst().dropLast()
        guard tag.hasPrefix("\""), tag.hasSuffix("\""),
            digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let revision = Int(digits)
        else {
            throw .invalid(Parameters.wrong("If-Match", "is the ETag of the store, such as \"17\""))
        }
        return revision
    }
}

/// The parameters that a path takes behind its question mark.
private struct Parameters {
    enum Kind {
        case text, number, flag
        /// A text, or JsonLogic where it begins with a brace.
        case expression
        /// Given once or several times.
        case list
        /// A revision, or a time.
        case moment
        case time
    }

    private let kinds: [String: Kind]

    init(_ kinds: [String: Kind]) { self.kinds = kinds }

    static func wrong(_ name: String, _ must: String) -> BusError {
        BusError(.invalidRequest, "`\(name)` \(must).", details: ["member": .string(name)])
    }

    func add(_ query: [(name: String, value: String)], to request: inout BusRequest) throws(APICall.Refusal) {
        var lists: [String: [JSON]] = [:]
        var given: Set<String> = []
        for (name, value) in query {
            guard let kind = kinds[name] else {
                let known = kinds.keys.sorted().joined(separator: ", ")
                throw .invalid(
                    Self.wrong(
                        name,
                        known.isEmpty
                            ? "is not known here; there are no parameters"
                            : "is not known here; there are: \(known)"))
            }
            if case .list = kind {
                lists[name, default: []].append(.string(value))
                continue
            }
            let (member, json) = try Self.member(name, value, kind)
            guard given.insert(name).inserted, request[member] == nil else {
                throw .invalid(Self.wrong(name, "must be given once"))
            }
            request.set(member, json)
        }
        for (name, values) in lists.sorted(by: { $0.key < $1.key }) { request.set(name, .array(values)) }
    }

    private static func member(
        _ name: String, _ value: String, _ kind: Kind
    ) throws(APICall.Refusal) -> (String, JSON) {
        switch kind {
        case .text, .list: return (name, .string(value))
        case .expression:
            guard value.hasPrefix("{") else { return (name, .string(value)) }
            guard let rule = try? JSON(parsing: Array(value.utf8)) else {
                throw .invalid(wrong(name, "begins with a brace and is not JSON"))
            }
            return (name, rule)
        case .number:
            guard let number = Int(value) else { throw .invalid(wrong(name, "is a whole number")) }
            return (name, .int(number))
        case .flag:
            switch value {
            case "true", "1", "": return (name, true)
            case "false", "0": return (name, false)
            default: throw .invalid(wrong(name, "is true or false"))
            }
        case .moment:
            if let revision = Int(value) { return ("revision", .int(revision)) }
            return ("time", try time(name, value, "is a revision, or a time such as 2027-01-31T10:00:00Z"))
        case .time:
            return (
                name, try time(name, value, "is a time such as 2027-01-31T10:00:00Z, or seconds since 1970")
            )
        }
    }

    private static func time(_ name: String, _ value: String, _ must: String) throws(APICall.Refusal) -> JSON
    {
        if let seconds = Double(value), seconds.isFinite { return .double(seconds) }
        let styles = [Date.ISO8601FormatStyle(), Date.ISO8601FormatStyle(includingFractionalSeconds: true)]
        for style in styles {
            if let date = try? style.parse(value) { return .double(date.timeIntervalSince1970) }
        }
        throw .invalid(wrong(name, must))
    }
}
