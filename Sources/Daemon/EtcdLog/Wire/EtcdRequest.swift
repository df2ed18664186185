import BusHTTP
import BusJSON

/// A request to etcd's JSON gateway.
struct EtcdRequest {
    let path: String
    let body: [UInt8]

    private init(_ path: String, _ write: (ByteWriter) -> Void) {
        let writer = ByteWriter()
        write(writer)
        self.path = path
        body = Array(writer.bytes)
    }

    /// - Parameters:
    ///   - token: Whom it is from.
    ///   - timeout: For the whole answer; nil: for a stream.
    func http(
        at endpoint: String, _ token: String?, _ settings: EtcdSettings, timeout: Duration?
    ) -> HTTPRequest {
        HTTPRequest(
            endpoint + path,
            headers: ["Content-Type: application/json"] + (token.map { ["Authorization: \($0)"] } ?? []),
            body: body, connecting: settings.times.connecting, timeout: timeout,
            longestAnswer: EtcdLimits.answer,
            trust: HTTPTrust(
                authority: settings.authority, certificate: settings.certificate, key: settings.key))
    }

    // MARK: - Keys

    /// All keys that begin so, as a majority sees them.
    static func range(prefix: String, onlyCount: Bool = false) -> EtcdRequest {
        EtcdRequest("/v3/kv/range") { writer in
            writer.append("{")
            writer.append(keysBeginning: prefix)
            if onlyCount { writer.append(",\"count_only\":true") }
            writer.append("}")
        }
    }

    static func put(_ key: String, _ value: [UInt8]) -> EtcdRequest {
        EtcdRequest("/v3/kv/put") { writer in
            writer.append("{")
            writer.append(key: key, value: value, lease: nil)
            writer.append("}")
        }
    }

    /// What has to hold for a transaction.
    enum Condition {
        /// So many times was this key written since it was made.
        case version(String, Int)
        /// The key was made at this revision; 0: there is none.
        case made(String, at: Int)
    }

    enum Operation {
        case put(String, [UInt8], lease: Int)
        /// Gives the key without its value, or with it.
        case get(String, withValue: Bool)
        case delete(String)
    }

    static func transaction(
        if conditions: [Condition], _ operations: [Operation], otherwise: [Operation] = []
    ) -> EtcdRequest {
        EtcdRequest("/v3/kv/txn") { writer in
            writer.append("{\"compare\":[")
            for (index, condition) in conditions.enumerated() {
                if index > 0 { writer.append(",") }
                writer.append(condition)
            }
            writer.append("],\"success\":[")
            writer.append(operations)
            writer.append("],\"failure\":[")
            writer.append(otherwise)
            writer.append("]}")
        }
    }

    static func compaction(at revision: Int) -> EtcdRequest {
        EtcdRequest("/v3/kv/compaction") { writer in
            writer.append("{\"revision\":\"", decimal: revision)
            writer.append("\"}")
        }
    }

    // MARK: - Watching

    /// All changes from a revision on, that one too.
    static func watch(prefix: String, from revision: Int) -> EtcdRequest {
        EtcdRequest("/v3/watch") { writer in
            writer.append("{\"create_request\":{")
            writer.append(keysBeginning: prefix)
            writer.append(",\"start_revision\":\"", decimal: revision)
            writer.append("\",\"progress_notify\":true,\"fragment\":true}}")
        }
    }

    // MARK: - Leases

    static func grant(seconds: Int) -> EtcdRequest {
        EtcdRequest("/v3/lease/grant") { writer in
            writer.append("{\"TTL\":\"", decimal: seconds)
            writer.append("\"}")
        }
    }

    static func keepAlive(_ lease: Int) -> EtcdRequest { about(lease, "/v3/lease/keepalive") }
    static func revoke(_ lease: Int) -> EtcdRequest { about(lease, "/v3/lease/revoke") }

    private static func about(_ lease: Int, _ path: String) -> EtcdRequest {
        EtcdRequest(path) { writer in
            writer.append("{\"ID\":\"", decimal: lease)
            writer.append("\"}")
        }
    }

    // MARK: - The rest

    static func authenticate(_ user: String, _ password: String) -> EtcdRequest {
        EtcdRequest("/v3/auth/authenticate") { writer in
            writer.append("{\"name\":", quoted: user)
            writer.append(",\"password\":", quoted: password)
            writer.append("}")
        }
    }

    static func status() -> EtcdRequest {
        EtcdRequest("/v3/maintenance/status") { $0.append("{}") }
    }
}

extension ByteWriter {
    fileprivate func append(base64 text: String) {
        append("\"")
        var text = text
        text.withUTF8 { Base64.append(UnsafeRawBufferPointer($0), to: self) }
        append("\"")
    }

    fileprivate func append(keysBeginning prefix: String) {
        append("\"key\":")
        append(base64: prefix)
        append(",\"range_end\":")
        append(base64: EtcdKeys.end(of: prefix))
    }

    fileprivate func append(key: String, value: [UInt8], lease: Int?) {
        append("\"key\":")
        append(base64: key)
        append(",\"value\":\"")
        value.withUnsafeBytes { Base64.append($0, to: self) }
        append("\"")
        guard let lease else { return }
        append(",\"lease\":\"", decimal: lease)
        append("\"")
    }

    fileprivate func append(_ condition: EtcdRequest.Condition) {
        append("{\"key\":")
        switch condition {
        case .version(let key, let version):
            append(base64: key)
            append(",\"target\":\"VERSION\",\"version\":\"", decimal: version)
        case .made(let key, let revision):
            append(base64: key)
            append(",\"target\":\"CREATE\",\"create_revision\":\"", decimal: revision)
        }
        append("\"}")
    }

    fileprivate func append(_ operations: [EtcdRequest.Operation]) {
        for (index, operation) in operations.enumerated() {
            if index > 0 { append(",") }
            switch operation {
            case .put(let key, let value, let lease):
                append("{\"request_put\":{")
                append(key: key, value: value, lease: lease)
            case .get(let key, let withValue):
                append("{\"request_range\":{\"key\":")
                append(base64: key)
                if !withValue { append(",\"keys_only\":true") }
            case .delete(let key):
                append("{\"request_delete_range\":{\"key\":")
                append(base64: key)
            }
            append("}}")
        }
    }
}
