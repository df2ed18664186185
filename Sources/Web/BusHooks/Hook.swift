import BusEffects
import BusJSON
import BusLogic
import BusSource
import BusYAML

/// What a request of another program at `/hooks/NAME` becomes: a file of `fluxbus-web`, compiled.
package struct Hook: Sendable {
    /// What a request has to show.
    package enum Check: Sendable {
        case signature(HookSignature)
        /// The request shows the secret itself: in `header`, after a prefix, or as a bearer token if that is nil.
        case token(header: String?, EffectFile)

        /// The file with the secret: up to `HookLimits.secrets` of them, a line each.
        package var file: EffectFile {
            switch self {
            case .signature(let signature): signature.file
            case .token(_, let file): file
            }
        }

        /// The header in which it is shown, in small letters.
        var header: String {
            switch self {
            case .signature(let signature): signature.header
            case .token(let header, _): header ?? "authorization"
            }
        }
    }

    /// What expressions know of a request.
    package static let names = ["body", "headers", "query"]

    package let name: String
    package let summary: String?
    package let check: Check
    /// The file with the token of the bus by which it acts, where the bus asks for one.
    package let tokenFile: EffectFile?
    /// Those that expressions see, in small letters.
    package let headers: [String]
    /// Those that its file names, which a request may have only once.
    package var fields: [String] { headers + [check.header] }
    let condition: Expression?
    let template: DispatchTemplate
    let key: EffectValue?
    package let place: Place

    /// Whether a request is meant. A condition without a value does not hold, as one that reads a member that is not there.
    package func isMeant(_ data: JSON) -> Bool {
        guard let condition else { return true }
        return (try? condition.holds(on: data)) ?? false
    }

    /// The members of the wire's `dispatch` for a request. A refusal is a clause.
    ///
    /// - Parameter data: The members are those of `names`.
    package func dispatch(_ data: JSON) throws(EffectRefusal) -> JSONObject {
        var members = try template.members(on: data)
        guard let key else { return members }
        let text = try key.text(on: data, "key of dispatch")
        guard !text.isEmpty else { throw EffectRefusal("key of dispatch is empty") }
        // Other hooks of the same user have keys of their own.
        members["key"] = .string("\(name):\(text)")
        return members
    }

    /// The hooks of a directory, ascending by name; adds all that is wrong with their files, in order.
    package static func all(in directory: String, _ errors: inout [SourceError]) -> [Hook] {
        FileReading.catalog(
            of: directory, "hook", atMost: HookLimits.hooks, &errors, identify: { ($0.name, $0.place) }
        ) { path, errors in
            var loader = HookLoader()
            let source = errors.collect { () throws(SourceError) in
                try LocatedValue.read(FileReading.bytes(of: path), file: path)
            }
            let hook = source.flatMap { loader.load($0) }
            errors += loader.errors
            return hook
        }
    }
}

/// What one server takes upon itself for hooks, with the reasons.
package enum HookLimits {
    /// Bytes of a hook's name, so that the key of a dispatch has room for what a request is called.
    package static let name = 48
    /// Hooks of one server: each is an operation of the document that describes them.
    package static let hooks = 256
    /// Headers of a request that expressions see.
    package static let headers = 32
    /// Secrets in a file: the new one and the old one while a secret is renewed, and as many more.
    package static let secrets = 4
    /// Signatures in a header: a sender that renews its secret gives two.
    package static let signatures = 8
    /// How old a signature with a time may be, or how far ahead, where its file does not say.
    package static let tolerance = Duration.seconds(300)
    /// The longest tolerance. Until it is over, somebody who has read a request can send it again.
    package static let longestTolerance = Duration.seconds(86_400)
}
