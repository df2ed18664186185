import BusJSON

/// A client's copy of the states, kept by the protocol page's one rule and by nothing of the bus's own code.
package struct ContractMirror {
    package struct Broken: Error { package let line: JSON }

    package private(set) var states: [String: JSON] = [:]
    package private(set) var revision: Int?
    private var isOpen = false

    /// Goes on from a revision seen before, or from the reply of a subscription without a first state.
    package init(states: [String: JSON] = [:], revision: Int? = nil) {
        self.states = states
        self.revision = revision
    }

    package mutating func take(_ lines: [JSON]) throws {
        for line in lines { try take(line) }
    }

    package mutating func take(_ line: JSON) throws {
        guard let event = line["event"]?.string else { return }
        if event == "bookmark" { revision = line["revision"]?.int }
        guard event == "change" else { return }
        // An event that starts over takes the place of one that was under way.
        if !isOpen || line["reset"] == true {
            if line["reset"] == true {
                states = [:]
                guard line["from"] == 0 else { throw Broken(line: line) }
            } else {
                guard let from = line["from"]?.int, from == revision else { throw Broken(line: line) }
            }
        }
        for member in line["states"]?.object ?? [:] { states[member.key] = member.value }
        for member in line["changes"]?.object ?? [:] { try patch(member.key, member.value, line) }
        for address in line["dropped"]?.array ?? [] { states[address.string ?? ""] = nil }
        isOpen = line["more"] == true
        if !isOpen {
            if let coalesced = line["coalesced"]?.int, let revision {
                guard coalesced == (line["revision"]?.int ?? 0) - revision else { throw Broken(line: line) }
            }
            revision = line["revision"]?.int
        }
    }

    private mutating func patch(_ address: String, _ change: JSON, _ line: JSON) throws {
        guard let state = states[address] else { throw Broken(line: line) }
        if let operations = change.array {
            states[address] = try operations.reduce(state) { try Self.applied($1, to: $0, line) }
        } else {
            states[address] = Self.merged(change, into: state)
        }
    }

    /// RFC 7396.
    private static func merged(_ patch: JSON, into value: JSON) -> JSON {
        guard let members = patch.object else { return patch }
        var result = value.object ?? [:]
        for member in members {
            result[member.key] =
                member.value.isNull ? nil : merged(member.value, into: result[member.key] ?? .null)
        }
        return .object(result)
    }

    /// RFC 6902, what the bus uses of it.
    private static func applied(_ operation: JSON, to state: JSON, _ line: JSON) throws -> JSON {
        guard let path = operation["path"]?.string, let name = operation["op"]?.string else {
            throw Broken(line: line)
        }
        let tokens = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map {
            String($0).replacing("~1", with: "/").replacing("~0", with: "~")
        }
        return try changed(state, tokens[...], name, operation["value"], line)
    }

    private static func changed(
        _ value: JSON, _ path: ArraySlice<String>, _ name: String, _ new: JSON?, _ line: JSON
    ) throws -> JSON {
        guard let token = path.first else { return new ?? .null }
        let isLast = path.count == 1
        if var object = value.object {
            if isLast {
                guard (object[token] != nil) || name == "add" else { throw Broken(line: line) }
                object[token] = name == "remove" ? nil : new
            } else {
                guard let inner = object[token] else { throw Broken(line: line) }
                object[token] = try changed(inner, path.dropFirst(), name, new, line)
            }
            return .object(object)
        }
        guard var array = value.array else { throw Broken(line: line) }
        let index = token == "-" ? array.count : Int(token) ?? -1
        guard array.indices.contains(index) || (isLast && name == "add" && index == array.count) else {
            throw Broken(line: line)
        }
        if !isLast {
            array[index] = try changed(array[index], path.dropFirst(), name, new, line)
        } else if name == "add" {
            array.insert(new ?? .null, at: index)
        } else if name == "remove" {
            array.remove(at: index)
        } else {
            array[index] = new ?? .null
        }
        return .array(array)
    }
}
