import BusJSON
import BusProtocol
import BusSource

/// `schemas:` of all files of one load, and where definitions refer to them: `{ schema: address }` becomes the schema itself,
/// so that a definition that is passed on needs no other file.
package final class SharedSchemas {
    private struct Expanded {
        let schema: LocatedValue
        /// How many schemas are in it.
        let size: Int
    }

    /// Enough for every type, and few enough that schemas in schemas in schemas stay small.
    private static let mostPerType = 10_000

    private let read: () -> [LocatedObject]
    private lazy var members = read().flatMap(\.members)
    private var expanded: [String: Expanded?] = [:]
    private var open: [String] = []
    private var size = 0
    /// The files whose schemas were referred to since this was emptied.
    package private(set) var files: Set<String> = []

    /// - Parameter read: Gives the `schemas` of each file. It is asked once, where something refers to one.
    package init(_ read: @escaping () -> [LocatedObject]) { self.read = read }

    package func forget() { files = [] }

    /// A definition without references.
    func expand(_ definition: LocatedObject, _ mistakes: Mistakes) -> LocatedObject {
        size = 0
        let inPayload = { (action: LocatedValue) in
            action.changing("payload") { self.expandMembers($0, mistakes) }
        }
        guard definition["state"]?.mayRefer == true || definition["actions"]?.mayRefer == true else {
            return definition
        }
        return definition.changing("state") { self.expandMembers($0, mistakes) }
            .changing("actions") { $0.changingEach(inPayload) }
    }

    /// Checks the schemas of one file, also those that nothing refers to.
    package func check(_ schemas: LocatedValue, _ errors: inout [SourceError]) {
        let mistakes = Mistakes(isStrict: true)
        check(schemas, mistakes)
        errors += mistakes.inOrder
    }

    func check(_ source: LocatedValue, _ mistakes: Mistakes) {
        guard let object = mistakes.collect({ () throws(SourceError) in try source.object("schemas") }) else {
            return
        }
        let reader = SchemaReader(mistakes: mistakes)
        for member in object.members {
            size = 0
            let others = members.filter { UTF8Order.equal($0.key, member.key) }
            if let other = others.first(where: { $0.place != member.place }) {
                mistakes.add(
                    "The schema \(member.key) is in \(other.place.file), too; rename one of them.",
                    at: member.place)
            }
            open.append(member.key)
            let schema = expand(member.value, mistakes).schema
            open.removeLast()
            _ = reader.read(schema, of: member.key, for: .part)
        }
    }

    private func expandMembers(_ members: LocatedValue, _ mistakes: Mistakes) -> LocatedValue {
        members.changingEach { self.expand($0, mistakes).schema }
    }

    private func expand(_ source: LocatedValue, _ mistakes: Mistakes) -> Expanded {
        guard case .object(let object) = source.content else { return Expanded(schema: source, size: 1) }
        var count = 1
        let inner: (LocatedValue) -> LocatedValue = { part in
            let found = self.expand(part, mistakes)
            count += found.size
            return found.schema
        }
        var result = object.changing("items", inner).changing("values", inner)
            .changing("properties") { $0.changingEach(inner) }
        if let reference = object.member("schema") {
            let base = self.reference(reference.value, mistakes)
            // After a mistake nothing more is said of it.
            let anything = LocatedValue(.scalar("any"), at: reference.place)
            result = result.over(base?.schema ?? anything)
            count += base?.size ?? 0
        }
        return Expanded(schema: LocatedValue(.object(result), at: source.place), size: count)
    }

    /// The schema of a name; nil after the mistake was added.
    private func reference(_ source: LocatedValue, _ mistakes: Mistakes) -> Expanded? {
        guard let name = mistakes.collect({ () throws(SourceError) in try source.string("schema") }) else {
            return nil
        }
        guard let member = members.first(where: { UTF8Order.equal($0.key, name) }) else {
            let names = members.map(\.key)
            let hint = names.isEmpty ? "no file has schemas." : suggestion(for: name, among: names)
            mistakes.add("\(name) is not in the schemas of any file; \(hint)", at: source.place)
            return nil
        }
        files.insert(member.place.file)
        if let first = open.firstIndex(of: name) {
            let circle = (open[first...] + [name]).joined(separator: " → ")
            mistakes.add(
                "The schemas \(circle) contain each other in a circle, so no value fits; break it.",
                at: source.place)
            return nil
        }
        if let known = expanded[name] { return known.flatMap { fitting($0, source, mistakes) } }
        open.append(name)
        let before = mistakes.count
        let found = expand(member.value, mistakes)
        open.removeLast()
        // One with mistakes is not put anywhere: they are told once, where it stands.
        expanded[name] = .some(mistakes.count == before ? found : nil)
        return fitting(found, source, mistakes)
    }

    private func fitting(_ found: Expanded, _ source: LocatedValue, _ mistakes: Mistakes) -> Expanded? {
        size += found.size
        if size <= Self.mostPerType { return found }
        mistakes.add(
            "A type has at most \(Self.mostPerType) schemas, with those in schemas; refer to fewer.",
            at: source.place)
        return nil
    }
}

extension LocatedObject {
    /// The object with another value of one member, if it is there.
    fileprivate func changing(_ key: String, _ change: (LocatedValue) -> LocatedValue) -> LocatedObject {
        guard self[key] != nil else { return self }
        return changingEach { UTF8Order.equal($0.key, key) ? change($0.value) : $0.value }
    }

    fileprivate func changingEach(_ change: (Member) -> LocatedValue) -> LocatedObject {
        replacing(members.map { Member(key: $0.key, place: $0.place, value: change($0)) })
    }

    /// These words over those of the schema that this one refers to.
    fileprivate func over(_ base: LocatedValue) -> LocatedObject {
        let own = members.filter { $0.key != "schema" }
        guard case .object(let object) = base.content else {
            let type = Member(key: "type", place: base.place, value: base)
            return replacing(own + (self["type"] == nil ? [type] : []))
        }
        return replacing(own + object.members.filter { self[$0.key] == nil })
    }

    private func replacing(_ members: [Member]) -> LocatedObject {
        // The keys are distinct, as they were.
        (try? LocatedObject(members, at: place)) ?? self
    }
}

extension LocatedValue {
    fileprivate func changing(_ key: String, _ change: (LocatedValue) -> LocatedValue) -> LocatedValue {
        guard case .object(let object) = content else { return self }
        return LocatedValue(.object(object.changing(key, change)), at: place)
    }

    fileprivate func changingEach(_ change: (LocatedValue) -> LocatedValue) -> LocatedValue {
        guard case .object(let object) = content else { return self }
        return LocatedValue(.object(object.changingEach { change($0.value) }), at: place)
    }

    /// Whether a member somewhere in it is called as a reference is.
    fileprivate var mayRefer: Bool {
        switch content {
        case .scalar: false
        case .array(let elements): elements.contains(where: \.mayRefer)
        case .object(let object): object.members.contains { $0.key == "schema" || $0.value.mayRefer }
        }
    }
}
