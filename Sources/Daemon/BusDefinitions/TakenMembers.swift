import BusJSON
import BusLogic
import BusSource
import BusYAML

/// Which payload members the actions of all types take: a dispatch to every type gives each of them the same payload, so
/// that a type may have to take a member that it never reads.
///
/// It reads the files only when it is asked, which most catalogs never do. It belongs to the reading of one catalog.
final class TakenMembers {
    private struct Member: Hashable {
        let action: String
        let name: String
    }

    private let files: [TypeCatalog.File]
    private let natives: [any StateType]
    private lazy var members = collect()
    /// Whether anything was asked since this was set to false.
    var asked = false

    init(_ files: [TypeCatalog.File], _ natives: [any StateType]) {
        self.files = files
        self.natives = natives
    }

    /// Whether an action of another file or of a type without one takes a member.
    func isTaken(_ member: String, by action: String, besides file: String) -> Bool {
        asked = true
        let files = members[Member(action: action, name: member)] ?? []
        return files.contains { $0 != file }
    }

    /// The files whose actions take a member; empty for a type without one.
    private func collect() -> [Member: Set<String>] {
        var members: [Member: Set<String>] = [:]
        for file in files {
            guard let source = try? LocatedValue.read(file.bytes, file: file.name) else { continue }
            for action in source.json["actions"]?.object?.members ?? [] {
                for name in action.value["payload"]?.object?.keys ?? [] {
                    members[Member(action: action.key, name: name), default: []].insert(file.name)
                }
            }
        }
        for type in natives {
            for (index, action) in type.actionNames.enumerated() {
                for name in type.payloadSchema(of: index)?.names ?? [] {
                    members[Member(action: action, name: name), default: []].insert("")
                }
            }
        }
        return members
    }
}
