import BusJSON

/// The contents of a request. A dispatch of one action, by far the most frequent, is kept in its parts, so that
/// nothing is allocated for it.
package enum RequestBody: Sendable {
    case dispatch(DispatchBody)
    case request(BusRequest)

    package struct DispatchBody: Sendable {
        let action: String
        let target: DispatchTarget
        let payload: JSONObject
        let ifRevision: Int?
        let condition: JSON?
        let filter: JSON?
        let traceparent: String?

        package init(
            action: String, target: DispatchTarget, payload: JSONObject = [:], ifRevision: Int? = nil,
            condition: JSON? = nil, filter: JSON? = nil, traceparent: String? = nil
        ) {
            self.action = action
            self.target = target
            self.payload = payload
            self.ifRevision = ifRevision
            self.condition = condition
            self.filter = filter
            self.traceparent = traceparent
        }

        fileprivate func writeOpen(to writer: ByteWriter, id: Int) {
            writer.append("{\"op\":\"dispatch\",\"id\":", decimal: id)
            let (name, value) = target.member
            writer.append(",\"", raw: name)
            writer.append("\":", quoted: value)
            writer.append(",\"action\":", quoted: action)
            if !payload.isEmpty {
                writer.append(",\"payload\":", jsonObject: payload)
            }
            if let ifRevision {
                writer.append(",\"ifRevision\":", decimal: ifRevision)
            }
            if let condition {
                writer.append(",\"if\":", json: condition)
            }
            if let filter {
                writer.append(",\"where\":", json: filter)
            }
            if let traceparent {
                writer.append(",\"traceparent\":", quoted: traceparent)
            }
        }

        fileprivate var encodedSize: Int {
            80 + target.member.value.utf8.count + action.utf8.count + payload.encodedSize
                + (condition?.encodedSize ?? 0) + (filter?.encodedSize ?? 0)
        }
    }

    /// Writes the line up to where further members can follow.
    func writeOpen(to writer: ByteWriter, id: Int) {
        switch self {
        case .dispatch(let body): body.writeOpen(to: writer, id: id)
        case .request(let request): request.writeOpen(to: writer, id: id)
        }
    }

    /// About how many bytes the line takes.
    var encodedSize: Int {
        switch self {
        case .dispatch(let body): body.encodedSize
        case .request(let request):
            request.members.reduce(60 + request.op.utf8.count) {
                $0 + $1.name.utf8.count + 4 + $1.value.encodedSize
            }
        }
    }

    /// Whether the program has given it a key.
    var bringsOwnKey: Bool {
        guard case .request(let request) = self else { return false }
        return request["key"] != nil
    }

    /// Whether the bus may refuse it for what it finds.
    var isConditional: Bool {
        guard case .request(let request) = self else { return true }
        return ["if", "ifRevision", "actions"].contains { request[$0] != nil }
    }

    /// Whether it makes stores that go with the session.
    var makesEphemeral: Bool {
        guard case .request(let request) = self else { return false }
        return request["ephemeral"] == true
            || (request["actions"]?.array ?? []).contains { $0["ephemeral"] == true }
    }

    /// How many levels the line nests.
    var depth: Int {
        switch self {
        case .dispatch(let body):
            1 + max(JSON.object(body.payload).depth, body.condition?.depth ?? 0, body.filter?.depth ?? 0)
        case .request(let request): 1 + (request.members.map(\.value.depth).max() ?? 0)
        }
    }
}

extension JSON {
    /// How many levels of arrays and objects it nests.
    fileprivate var depth: Int {
        switch self {
        case .array(let elements): 1 + (elements.map(\.depth).max() ?? 0)
        case .object(let object): 1 + (object.members.map(\.value.depth).max() ?? 0)
        default: 0
        }
    }
}
