import BusEffects
import BusJSON
import BusLogic
import BusSource

/// Compiles the file of a hook, and finds everything that is wrong with it.
package struct HookLoader {
    package private(set) var errors: [SourceError] = []

    package init() {}

    package static let keys = ["hook", "summary", "check", "token-file", "headers", "if", "dispatch"]
    /// Headers that carry secrets of other programs: no expression sees them.
    private static let secretHeaders = ["authorization", "cookie", "proxy-authorization"]

    /// The hook, unless something is wrong with it.
    package mutating func load(_ source: LocatedValue) -> Hook? {
        guard let root = errors.collect({ () throws(SourceError) in try source.object("a hook") }) else {
            return nil
        }
        errors += root.unknownKeys(besides: Self.keys, of: "a hook")
        let name = errors.collect { () throws(SourceError) in
            try root.required("hook", of: "A hook").name("hook", of: "A hook", atMost: HookLimits.name)
        }
        let summary = errors.collect { () throws(SourceError) in
            try root["summary"].map { source throws(SourceError) in try source.string("summary") }
        }
        let check = errors.collect { () throws(SourceError) in
            try Self.check(root.required("check", of: "A hook").object("check"))
        }
        let tokenFile = errors.collect { () throws(SourceError) in
            try root["token-file"].map { source throws(SourceError) in
                try EffectFile(source.string("token-file"), source)
            }
        }
        let headers = errors.collect { () throws(SourceError) in try Self.headers(root["headers"], check) }
        let condition = errors.collect { () throws(SourceError) in
            try root["if"].map { source throws(SourceError) in
                try EffectValue.condition(source, names: Hook.names, on: "request")
            }
        }
        let dispatch = errors.collect { () throws(SourceError) in
            try Self.dispatch(root.required("dispatch", of: "A hook").object("dispatch"))
        }
        guard errors.isEmpty, let name, let check, let headers, let dispatch else { return nil }
        return Hook(
            name: name, summary: summary ?? nil, check: check, tokenFile: tokenFile ?? nil, headers: headers,
            condition: condition ?? nil, template: dispatch.template, key: dispatch.key, place: source.place)
    }

    private static func check(_ object: LocatedObject) throws(SourceError) -> Hook.Check {
        try object.refuseMembers(besides: ["signature", "token"], of: "check")
        switch (object["signature"], object["token"]) {
        case (let signature?, nil): return .signature(try HookSignature(signature.object("signature")))
        case (nil, let token?):
            let object = try token.object("token")
            let file = try EffectFile(object, of: "token", besides: ["header", "prefix"])
            if let prefix = object.member("prefix"), object["header"] == nil {
                throw SourceError("prefix goes with header, in which it stands; add that.", at: prefix.place)
            }
            return .token(
                header: try object["header"].map { source throws(SourceError) in try header(source) }, file)
        default:
            throw SourceError(
                "A request shows one thing; write either signature or token in check.", at: object.place)
        }
    }

    /// The name of a header, in small letters.
    static func header(_ source: LocatedValue) throws(SourceError) -> String {
        let name = try source.string("header")
        guard !name.isEmpty, name.unicodeScalars.allSatisfy(HTTPAddress.isToken) else {
            throw source.failure("`\(name)` is not a header's name; write letters, digits and -.")
        }
        return name.lowercased()
    }

    private static func headers(
        _ source: LocatedValue?, _ check: Hook.Check?
    ) throws(SourceError) -> [String] {
        var headers: [String] = []
        guard let source else { return headers }
        let elements = try source.array("headers")
        guard elements.count <= HookLimits.headers else {
            throw source.failure(
                "headers has \(elements.count) names, and at most \(HookLimits.headers) are read; leave some out."
            )
        }
        for element in elements {
            let name = try header(element)
            var secrets = secretHeaders
            if case .token(let own?, _) = check { secrets.append(own) }
            guard !secrets.contains(name) else {
                throw element.failure(
                    "The header \(name) carries a secret, which no expression may see; leave it out.")
            }
            guard !headers.contains(name) else { throw element.failure(FileWords.duplicate("header", name)) }
            headers.append(name)
        }
        return headers
    }

    private static func dispatch(
        _ object: LocatedObject
    ) throws(SourceError) -> (template: DispatchTemplate, key: EffectValue?) {
        let template = try DispatchTemplate(object, names: Hook.names, besides: ["key"])
        let key = try object["key"].map { source throws(SourceError) in
            let value = try EffectValue.compile(source, names: Hook.names)
            guard case .expression(let expression) = value, expression.constant == nil else {
                throw source.failure(
                    "The same key for every request lets the first one count alone; write an expression after =, such as = body.id."
                )
            }
            return value
        }
        return (template, key)
    }
}
