import BusCluster
import BusJSON

/// Why a request to etcd brought nothing, and what that means for the next step.
package struct EtcdFault: Error, Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// This server is no good at the moment; another one may be.
        case server
        /// The token is no longer valid: a new one, then the same request.
        case token
        /// etcd asks nobody who they are: a token is not needed.
        case noAuthentication
        case leaseGone
        /// The revision is compacted.
        case compacted
        /// Refused; no other server would do it.
        case refused
    }

    package let kind: Kind
    /// Whether the request may be carried out nevertheless, now or later.
    package let mayHappen: Bool
    package let failure: OrderedLogFailure

    package init(_ kind: Kind, mayHappen: Bool, _ failure: OrderedLogFailure) {
        self.kind = kind
        self.mayHappen = mayHappen
        self.failure = failure
    }

    package init(_ kind: Kind, mayHappen: Bool, _ why: OrderedLogFailure.Kind, _ message: String) {
        self.init(kind, mayHappen: mayHappen, OrderedLogFailure(why, message))
    }

    /// An answer that can't be understood: whatever gave it is no etcd that works.
    package static func unexpected(_ endpoint: String, _ what: String) -> EtcdFault {
        EtcdFault(
            .server, mayHappen: true, .unexpected,
            "\(endpoint) gives \(what): check that an etcd from 3.4 to 3.6 answers there.")
    }

    // MARK: - In etcd's words

    /// - Parameters:
    ///   - status: Of HTTP.
    ///   - body: Of the answer: `{"error": …, "code": …}`, where etcd itself gives it.
    package init(_ endpoint: String, status: Int, body: [UInt8]) {
        let reply = try? JSON(parsing: body)
        if let reply, let code = reply["code"]?.int {
            self.init(endpoint, code: code, words: (reply["message"] ?? reply["error"])?.string ?? "")
        } else if [502, 503, 504].contains(status) {
            self.init(
                .server, mayHappen: true, .unreachable,
                "\(endpoint) answers with HTTP status \(status): see how etcd does there.")
        } else {
            let said = String(decoding: body.prefix(EtcdLimits.answer), as: UTF8.self)
            self = .unexpected(endpoint, "HTTP status \(status) (\(Self.shown(said)))")
        }
    }

    /// - Parameters:
    ///   - code: Of gRPC.
    ///   - words: What etcd says beside it.
    package init(_ endpoint: String, code: Int, words: String) {
        let said = Self.shown(words)
        switch code {
        case 5 where words.contains("lease"):
            self.init(.leaseGone, mayHappen: false, .unexpected, "The lease has ended; join again.")
        case 11 where words.contains("has been compacted"):
            self.init(.compacted, mayHappen: false, .unexpected, "\(endpoint) no longer has this: \(said).")
        case 16,
            3 where words.contains("auth store is old"):
            self.init(.token, mayHappen: false, .forbidden, "\(endpoint) refuses the token: \(said).")
        case 3 where words.contains("user name is empty"):
            self.init(
                .token, mayHappen: false, .forbidden,
                "\(endpoint) asks who this is: set `user` and `password-file` of `cluster`.")
        case 9 where words.contains("authentication is not enabled"):
            self.init(.noAuthentication, mayHappen: false, .forbidden, "\(endpoint) has no users: \(said).")
        case 7,
            3 where words.contains("user") || words.contains("authentication failed"):
            self.init(
                .refused, mayHappen: false, .forbidden,
                "\(endpoint) refuses this user: \(said). Check user, password and the role's keys.")
        case 3 where words.contains("too large"), 8 where words.contains("larger than max"):
            self.init(
                .refused, mayHappen: false, .tooLarge,
                "The request is too large for \(endpoint): raise etcd's max-request-bytes.")
        case 8 where words.contains("space exceeded"):
            self.init(
                .refused, mayHappen: false, .full,
                "\(endpoint) has no room: raise etcd's quota-backend-bytes or compact it, then disarm its alarm."
            )
        case 3, 9, 11:
            self.init(.refused, mayHappen: false, .unexpected, "\(endpoint) refuses the request: \(said).")
        case 4:
            self.init(.server, mayHappen: true, .timedOut, "\(endpoint) gives up on the request: \(said).")
        default:
            self.init(
                .server, mayHappen: true, .unreachable,
                "\(endpoint) can't do it: \(said). See how etcd does there.")
        }
    }

    /// What a server says, fit to stand in a sentence.
    static func shown(_ words: String) -> String {
        let printable = words.unicodeScalars.filter { (0x20...0x7e).contains($0.value) }
        let text = String(String.UnicodeScalarView(printable)).prefix(EtcdLimits.words)
        return text.isEmpty ? "no reason given" : String(text)
    }
}
