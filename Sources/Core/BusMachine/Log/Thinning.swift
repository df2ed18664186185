import BusJSON

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Removes what concerns some types from entries of the log. What is left of an entry is what would have been written if the log had
/// kept nothing of these types, without `matched` and `changed`: what a key is answered stands in the snapshots that follow.
package struct Thinning: Sendable {
    package let types: Set<String>
    /// `"beat/` and `"beat"`: an entry without any of these concerns none of the types.
    private let marks: [[UInt8]]

    package enum Rest {
        case all
        case some([UInt8])
        case nothing
    }

    package init(_ types: some Sequence<String>) {
        self.types = Set(types)
        marks = self.types.flatMap { [Array("\"\($0)/".utf8), Array("\"\($0)\"".utf8)] }
    }

    /// What is left of a group's entries; nil if that is all of them.
    package func rest(ofGroup entries: UnsafeRawBufferPointer) -> [UInt8]? {
        var rest: [UInt8] = []
        var isLess = false
        func keep(_ line: some Sequence<UInt8>) {
            if !rest.isEmpty { rest.append(UInt8(ascii: "\n")) }
            rest += line
        }
        LogLines.forEach(in: entries) { line in
            switch self.rest(of: line) {
            case .all: return keep(line)
            case .some(let left): keep(left)
            case .nothing: break
            }
            isLess = true
        }
        return isLess ? rest : nil
    }

    /// What is left of an entry. Notes stay as they are.
    package func rest(of line: UnsafeRawBufferPointer) -> Rest {
        guard marks.contains(where: { Self.contains(line, $0) }), LogLines.revisions(of: line) != nil,
            let entry = RawJSON(line)?.members
        else { return .all }
        var left: [(key: String, text: [UInt8])] = []
        var isLess = false
        for member in entry {
            guard let text = rest(of: member, among: entry) else {
                isLess = true
                continue
            }
            isLess = isLess || !text.elementsEqual(member.text)
            left.append((member.key, text))
        }
        if !isLess { return .all }
        return Self.entry(left)
    }

    /// Whether something of an entry or of a snapshot names one of the types, or one of their stores.
    func concerns(_ part: JSONObject) -> Bool {
        part["type"]?.string.map(types.contains) ?? false || part["store"]?.string.map(concerns) ?? false
    }

    private func concerns(_ address: String) -> Bool { types.contains(String(address.prefix { $0 != "/" })) }

    private static func contains(_ line: UnsafeRawBufferPointer, _ mark: [UInt8]) -> Bool {
        var rest = line
        while rest.count >= mark.count, let base = rest.baseAddress {
            guard let quote = memchr(base, Int32(mark[0]), rest.count - mark.count + 1) else { return false }
            if memcmp(quote, mark, mark.count) == 0 { return true }
            rest = UnsafeRawBufferPointer(rebasing: rest[(UnsafeRawPointer(quote) - base + 1)...])
        }
        return false
    }

    // MARK: - Parts of an entry

    /// What is left of a member; nil: it is left out.
    private func rest(of member: RawJSON.Member, among entry: [RawJSON.Member]) -> [UInt8]? {
        switch member.key {
        case "actions": return actions(member)
        case "kept": return filtered(member) { !concerns($0.object ?? [:]) }
        case "dropped": return filtered(member) { !concerns($0.string ?? "") }
        case "created", "states":
            let left = RawJSON(member.text)?.members.filter { !concerns($0.key) } ?? []
            if left.isEmpty { return nil }
            return Array("{".utf8) + left.map { Array($0.whole) }.joined(separator: [UInt8(ascii: ",")])
                + Array("}".utf8)
        case "scheduled", "cancelled", "fired":
            return concerns(member.value.object ?? [:]) ? nil : Array(member.text)
        case "steps": return steps(member.value.array ?? [], entry.first { $0.key == "actions" })
        default: return Array(member.text)
        }
    }

    /// What is left of the actions. Where some go, the others get the index that they have in the batch.
    private func actions(_ member: RawJSON.Member) -> [UInt8] {
        let all = RawJSON(member.text)?.elements ?? []
        let left = all.enumerated().filter { !concerns($0.element.value.object ?? [:]) }
        if left.count == all.count { return Array(member.text) }
        return Self.array(
            left.map { index, action in
                if action.value["index"] != nil { return Array(action.text) }
                return action.text.dropLast() + Array(",\"index\":\(index)}".utf8)
            })
    }

    /// An array without some of its elements; nil if none is left.
    private func filtered(_ member: RawJSON.Member, _ isKept: (JSON) -> Bool) -> [UInt8]? {
        let left = RawJSON(member.text)?.elements.filter { isKept($0.value) } ?? []
        return left.isEmpty ? nil : Self.array(left.map { Array($0.text) })
    }

    private static func array(_ elements: [[UInt8]]) -> [UInt8] {
        Array("[".utf8) + elements.joined(separator: [UInt8(ascii: ",")]) + Array("]".utf8)
    }

    /// The steps of a batch, which count its actions; nil if it creates and drops nothing that is left.
    private func steps(_ steps: [JSON], _ actions: RawJSON.Member?) -> [UInt8]? {
        var actions = (actions?.value.array ?? [])[...]
        var left: [JSON] = []
        var count = 0
        var makes = 0
        var acts = false
        func pass() {
            if count > 0 { left.append(.int(count)) }
            count = 0
        }
        for step in steps {
            if let number = step.int {
                count += actions.prefix(number).count { !concerns($0.object ?? [:]) }
                actions = actions.dropFirst(number)
                acts = acts || count > 0
            } else if !concerns(step.object ?? [:]) {
                pass()
                left.append(step)
                makes += step["op"] == "create" ? 1 : 0
            }
        }
        pass()
        // Drops alone need no order.
        guard left.contains(where: { $0.int == nil }), makes > 0 || acts else { return nil }
        return Array(JSON.array(left).encoded.utf8)
    }

    /// Members that are what a commit is, besides its actions; all others belong to one of these.
    private static let facts: Set<String> = [
        "created", "dropped", "states", "scheduled", "cancelled", "fired", "advanced", "definitions",
        "undefined", "access", "keeping",
    ]

    /// An entry that lacks something.
    private static func entry(_ members: [(key: String, text: [UInt8])]) -> Rest {
        func has(_ key: String) -> Bool { members.contains { $0.key == key } }
        let acts = members.contains { $0.key == "actions" && $0.text.count > 2 }
        guard acts || members.contains(where: { facts.contains($0.key) || $0.key == "steps" }) else {
            return .nothing
        }
        let steps = members.first { $0.key == "steps" }.flatMap { try? JSON(parsing: $0.text) }
        let isOwned =
            steps.map { $0.array?.contains { $0["ephemeral"] == true } ?? false } ?? has("created")
        var left: [UInt8] = []
        for (key, text) in members {
            switch key {
            case "connection", "session", "linger": if !isOwned { continue }
            case "ttl": if !has("created") { continue }
            case "reverted": if !has("states") { continue }
            default: break
            }
            left += Array((left.isEmpty ? "{\"\(key)\":" : ",\"\(key)\":").utf8) + text
        }
        return .some(left + Array("}".utf8))
    }
}

/// An object or an array as it is written: its parts can be put together again without a byte of difference.
private struct RawJSON {
    struct Member {
        let key: String
        /// The key and the value; the value.
        let whole: UnsafeRawBufferPointer
        let text: UnsafeRawBufferPointer
        let value: JSON
    }

    private(set) var members: [Member] = []
    private(set) var elements: [(text: UnsafeRawBufferPointer, value: JSON)] = []

    /// Nil for anything else.
    init?(_ text: UnsafeRawBufferPointer) {
        var reader = JSONReader(text, depthLimit: 1000)
        do throws(JSONError) {
            if reader.take(UInt8(ascii: "{")) {
                while !reader.take(UInt8(ascii: "}")) {
                    _ = reader.take(UInt8(ascii: ","))
                    let begin = reader.offset
                    let key = try reader.string()
                    try reader.expect(UInt8(ascii: ":"))
                    let start = reader.offset
                    let value = try reader.value()
                    members.append(
                        Member(
                            key: key, whole: reader.bytes(from: begin, to: reader.offset),
                            text: reader.bytes(from: start, to: reader.offset), value: value))
                }
            } else {
                try reader.expect(UInt8(ascii: "["))
                while !reader.take(UInt8(ascii: "]")) {
                    _ = reader.take(UInt8(ascii: ","))
                    let start = reader.offset
                    let value = try reader.value()
                    elements.append((reader.bytes(from: start, to: reader.offset), value))
                }
            }
        } catch {
            return nil
        }
    }
}
