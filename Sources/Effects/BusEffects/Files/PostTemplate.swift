import BusJSON
import BusLogic
import BusProtocol
import BusSource

/// A request of `post`, with places that an event fills.
///
/// Guarantees that no value of an event chooses the server, adds a header or ends one: in the address, places stand behind the
/// host, and what stands in them is percent-encoded; names of headers are the file's; a value with a line's end is refused.
package struct PostTemplate: Sendable {
    private enum Address: Sendable {
        case template(TextTemplate)
        case file(EffectFile)
    }

    private enum Value: Sendable {
        case value(EffectValue)
        case file(EffectFile)
    }

    private let address: Address
    private let headers: [(name: String, value: Value)]
    /// Nil: the event.
    private let body: EffectValue?
    private let authority: EffectFile?
    /// What the server is shown, if it asks; without `key` the file of the certificate has the key, too.
    private let certificate: EffectFile?
    private let key: EffectFile?
    let readsState: Bool

    /// The keys that name files of TLS, and what `http://` does not do with them.
    private static let keysOfTLS = [
        "ca": "checks no certificate", "certificate": "shows no certificate", "key": "shows no certificate",
    ]
    package static let keys = ["url", "headers", "body", "ca", "certificate", "key"]
    /// What the service says itself, or what decides where a request ends.
    private static let reserved = [
        "connection", "content-length", "expect", "host", "idempotency-key", "keep-alive", "te", "trailer",
        "transfer-encoding", "upgrade",
    ]

    init(_ object: LocatedObject) throws(SourceError) {
        try object.refuseMembers(besides: Self.keys, of: "post")
        let url = try object.required("url", of: "post")
        let (headers, isSecret) = try Self.headers(object["headers"]?.object("headers"))
        authority = try Self.file("ca", object)
        certificate = try Self.file("certificate", object)
        key = try Self.file("key", object)
        if let key = object["key"], certificate == nil {
            throw key.failure("key goes with certificate, whose key it is; add that.")
        }
        if case .object(let file) = url.content {
            address = .file(try EffectFile(file, of: "url", besides: []))
        } else {
            address = .template(try Self.template(url, isSecret: isSecret, object))
        }
        body = try object["body"].map { source throws(SourceError) in try EffectValue.compile(source) }
        self.headers = headers
        var reads = body?.readsState ?? false
        if case .template(let template) = address { reads = reads || template.readsState }
        for case (_, .value(let value)) in headers { reads = reads || value.readsState }
        readsState = reads
    }

    // MARK: The file

    private static func file(_ key: String, _ object: LocatedObject) throws(SourceError) -> EffectFile? {
        try object[key].map { source throws(SourceError) in try EffectFile(source.string(key), source) }
    }

    private static func template(
        _ source: LocatedValue, isSecret: Bool, _ owner: LocatedObject
    ) throws(SourceError) -> TextTemplate {
        let text = try source.string("url")
        guard !text.hasPrefix("=") else {
            throw source.failure(
                "An event can't choose the server; write its address, with {…} behind the host.")
        }
        let template = try TextTemplate(text, source)
        let literals = template.literals
        // Any character that needs no encoding stands for what an event fills.
        if let advice = HTTPAddress.advice(on: literals.joined(separator: "x")) {
            throw source.failure("`\(text)` can't be posted to: \(advice).")
        }
        guard literals.count == 1 || HTTPAddress.endsHost(literals[0]) else {
            throw source.failure(
                "`\(text)` lets an event choose the server; put {…} behind the host, as in https://example.org/{store.name}."
            )
        }
        for member in owner.members where HTTPAddress.isPlain(text) {
            guard let words = keysOfTLS[member.key] else { continue }
            throw member.value.failure("http:// \(words); write https://, or leave \(member.key) out.")
        }
        if isSecret, HTTPAddress.isPlain(text), !HTTPAddress.isLocal(text) {
            throw source.failure(
                "`\(text)` would carry the secret of a file for everybody to read; write https://.")
        }
        return template
    }

    private static func headers(
        _ object: LocatedObject?
    ) throws(SourceError) -> (headers: [(name: String, value: Value)], isSecret: Bool) {
        var (headers, names, isSecret): ([(name: String, value: Value)], Set<String>, Bool) = ([], [], false)
        for member in object?.members ?? [] {
            let name = member.key
            guard !name.isEmpty, name.unicodeScalars.allSatisfy(HTTPAddress.isToken) else {
                throw SourceError(
                    "`\(name)` is not a header's name; write letters, digits and -.", at: member.place)
            }
            guard !reserved.contains(name.lowercased()) else {
                throw SourceError(
                    "The service sends the header \(name) itself; leave it out.", at: member.place)
            }
            guard names.insert(name.lowercased()).inserted else {
                throw SourceError(
                    FileWords.duplicate("header", name), at: member.place)
            }
            switch member.value.content {
            case .object(let file):
                headers.append((name, .file(try EffectFile(file, of: name, besides: ["prefix"]))))
                isSecret = true
            case .scalar(let value) where !value.isNull:
                let compiled = try EffectValue.compile(member.value)
                if case .constant(let constant) = compiled, let text = constant.string,
                    !HTTPAddress.isHeader(text)
                {
                    throw member.value.failure("A header is one line without control characters; write one.")
                }
                headers.append((name, .value(compiled)))
            default:
                throw member.value.failure(
                    "\(name) must be a text or { file: … }, not \(member.value.kind).")
            }
        }
        return (headers, isSecret)
    }

    // MARK: The event

    /// The request for an event. A refusal is a clause.
    func task(on data: JSON) throws(EffectRefusal) -> PostTask {
        var lines: [PostTask.Header] = []
        for (name, value) in headers {
            switch value {
            case .file(let file): lines.append(.init(name: name, value: .file(file)))
            case .value(let value):
                let what = "the header \(name)"
                let text = try HTTPAddress.header(value.text(on: data, what), what)
                lines.append(.init(name: name, value: .text(text)))
            }
        }
        let json = try body.map { body throws(EffectRefusal) in
            try EffectRefusal.evaluating("the body") { () throws(EvaluationFailure) in
                try body.value(on: data)
            }
        }
        return PostTask(
            address: try address(on: data), headers: lines, body: json, authority: authority,
            certificate: certificate, key: key)
    }

    private func address(on data: JSON) throws(EffectRefusal) -> PostTask.Text {
        switch address {
        case .file(let file): return .file(file)
        case .template(let template):
            let text = try template.text(on: data) { (filled, place) throws(EffectRefusal) in
                // Dots would climb to another folder of the server.
                guard filled.contains(where: { $0 != "." }) else {
                    throw EffectRefusal("\(place) is \(filled.isEmpty ? "empty" : "dots alone")")
                }
                return HTTPAddress.encoded(filled)
            }
            guard text.utf8.count <= EffectLimits.header else {
                throw EffectRefusal("the address is longer than \(EffectLimits.header) bytes")
            }
            return .text(text)
        }
    }
}

/// A request with nothing left to work out but its files.
package struct PostTask: Sendable, Equatable {
    package enum Text: Sendable, Equatable {
        case text(String)
        /// Its first line, read when the request is sent.
        case file(EffectFile)
    }

    package struct Header: Sendable, Equatable {
        package let name: String
        package let value: Text
    }

    package let address: Text
    package let headers: [Header]
    /// Nil: the event.
    package let body: JSON?
    package let authority: EffectFile?
    package let certificate: EffectFile?
    package let key: EffectFile?

    package init(
        address: Text, headers: [Header], body: JSON?, authority: EffectFile?, certificate: EffectFile? = nil,
        key: EffectFile? = nil
    ) {
        (self.address, self.headers) = (address, headers)
        (self.body, self.authority) = (body, authority)
        (self.certificate, self.key) = (certificate, key)
    }

    /// In one line, for people.
    var text: String {
        let place: String
        switch address {
        case .text(let text): place = text
        case .file(let file): place = "the address in \(file.path)"
        }
        return "post \(body?.encoded ?? "the event") to \(place)"
    }
}
