/// What a type asks for while it is decoded: the names of its members, what each must be, and which may be
/// absent. This is how the shape of a Swift type is known without a description of it.
package final class DecodingTrace {
    /// What a member has to be, in the words of a payload schema.
    package enum Kind: String, Sendable {
        case any, boolean, integer, number, string, array, object
    }

    package struct Read: Sendable {
        package let name: String
        /// Nil when it was asked for and never looked at.
        package fileprivate(set) var kind: Kind?
        package fileprivate(set) var mayBeAbsent = false
    }

    /// In the order in which they were asked for, each once.
    package private(set) var reads: [Read] = []

    /// The members that the whole value may have, where its keys are an enum that lists them.
    package private(set) var names: [String]?

    /// Members of objects this deep are noted: 0 is the whole value.
    private let depth: Int

    package init(depth: Int) { self.depth = depth }

    /// The keys of the whole value are of this type.
    func note<Key: CodingKey>(keys: Key.Type) {
        guard names == nil else { return }
        // A key with a name of its own in the code can't be found by that.
        let keys = EnumCases.names(of: Key.self)?.map { Key(stringValue: $0) }
        if let keys, !keys.contains(where: { $0 == nil }) { names = keys.compactMap { $0?.stringValue } }
    }

    /// The cases of an enum that is coded as the name of its case; nil if it is another type.
    package static func names<Value: Decodable>(ofBare type: Value.Type) -> [String]? {
        EnumCases.names(of: type).flatMap { names in
            names.allSatisfy { (try? JSON.string($0).decoded(as: type)) != nil } ? names : nil
        }
    }

    /// Whether members of an object at `place` are noted.
    func notes(membersOf place: CodingPlace?) -> Bool { CodingPlace.depth(of: place) == depth }

    /// What stands at `place` was looked at as something; the first look counts.
    func note(_ kind: Kind, at place: CodingPlace?) {
        guard let place, place.depth == depth + 1 else { return }
        change(place.key.stringValue) { read in
            if read.kind == nil { read.kind = kind }
        }
    }

    func note(_ kind: Kind?, member name: String) {
        change(name) { read in
            if read.kind == nil { read.kind = kind }
        }
    }

    func noteMayBeAbsent(_ name: String) {
        change(name) { $0.mayBeAbsent = true }
    }

    private func change(_ name: String, _ body: (inout Read) -> Void) {
        if let index = reads.firstIndex(where: { UTF8Order.equal($0.name, name) }) {
            return body(&reads[index])
        }
        var read = Read(name: name)
        body(&read)
        reads.append(read)
    }
}
