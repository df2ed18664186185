import BusCommands
import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// What decides outcomes changes for the whole bus: types, access rules, limits.
extension Replica {
    /// Puts in force what differs. What is absent stays as it is.
    func configure(_ text: [UInt8], by principal: Principal) throws(RequestError) -> CommandReply {
        guard let wanted = (try? JSON(parsing: text))?.object else {
            throw RequestError(.parseError, "What is to be configured can't be read; propose it anew.")
        }
        let types = try wanted["types"].map { (list) throws(RequestError) in try self.types(list) }
        let access = try wanted["access"].map { (rules) throws(RequestError) in try self.access(rules) }
        let limits = try wanted["limits"].map { (limits) throws(RequestError) in
            try BusLimits(limits, instead: machine.limits)
        }
        let before = machine.limits
        machine.limits = limits ?? before
        let planned: Redefinition
        do throws(Redefinition.Refusal) {
            planned = try machine.redefinition(
                with: types ?? machine.liveTypes.map(\.type), access: access ?? machine.access)
        } catch {
            machine.limits = before
            throw RequestError(.rejected, error.message)
        }
        sink.commit(by: principal, actions: false, key: nil, machine.redefine(by: planned))
        var reply = CommandReply(revision: machine.revision)
        reply.migrations = planned.migrations
        return reply
    }

    private func types(_ list: JSON) throws(RequestError) -> [any StateType] {
        guard let definitions = list.array else {
            throw RequestError(.invalidRequest, "`types` must be a list of definitions.")
        }
        var types: [any StateType] = []
        for definition in definitions {
            do {
                types.append(try machine.compile(definition))
            } catch {
                throw RequestError(.rejected, "A definition can't be used: \(error).")
            }
        }
        guard Set(types.map(\.name)).count == types.count else {
            throw RequestError(.rejected, "Two definitions are of one type; keep one of them.")
        }
        return types
    }

    private func access(_ rules: JSON) throws(RequestError) -> AccessRules? {
        if rules.isNull { return nil }
        do {
            return try AccessRules(definition: rules)
        } catch {
            throw RequestError(.rejected, "The access rules can't be used: \(error).")
        }
    }
}

extension BusLimits {
    private static let names: [(String, WritableKeyPath<BusLimits, Int> & Sendable)] = [
        ("state", \.state), ("stores", \.stores), ("batch", \.batch), ("commit", \.commit),
        ("memory", \.memory), ("timers", \.timers), ("timersOfStore", \.timersOfStore),
        ("timersOfType", \.timersOfType),
    ]

    /// All of them by name.
    package var json: JSON {
        var members = JSONObject()
        for (name, path) in Self.names { members[name] = .int(self[keyPath: path]) }
        return .object(members)
    }

    /// The limits with those of `json` instead of `others`.
    package init(_ json: JSON, instead others: BusLimits) throws(RequestError) {
        self = others
        guard let members = json.object?.members else {
            throw RequestError(.invalidRequest, "`limits` must be an object of numbers.")
        }
        for member in members {
            guard let (_, path) = Self.names.first(where: { UTF8Order.equal($0.0, member.key) }),
                let value = member.value.int, value > 0
            else {
                throw RequestError(
                    .invalidRequest,
                    "`limits.\(member.key.shortened(to: 80))` is not a limit of the bus above 0.")
            }
            self[keyPath: path] = value
        }
    }
}
