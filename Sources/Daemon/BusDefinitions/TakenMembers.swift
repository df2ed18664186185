import BusJSON
import BusLogic
import BusSource
import BusYAML

/// Which payload members the actions of all types take: a dispatch to every type gives each of them the same payload, so
/// that a type may have to take a member that it never reads.
///
/// It reads the files only when it is asked, which most catalogs never do. It belongs to the reading of one catalog.
final class TakenMembers {
    private struct Member {
        let action: String
        let name: String
        /// Empty for a type without a file.
        let file: String
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
        return members.contains {
            $0.file != file && UTF8Order.equal($0.action, action) && UTF8Order.equal($0.name, member)
        }
    }

    private func collect() -> [Member] {
        var members: [Member] = []
        for file in files {
            guard let source = try? LocatedValue.read(file.bytes, file: file.name) else { continue }
            for action in source.json["actions"]?.object?.members ?? [] {
                for name in action.value["payload"]?.object?.keys ?? [] {
                    members.append(Member(action: action.key, name: name, file: file.name))
                }
            }
        }
        for type in natives {
            for (index, action) in type.actionNames.enumerated() {
                for name in type.payloadSchema(of: index)?.names ?? [] {
                    members.append(Member(action: action, name: name, file: ""))
                }
            }
        }
        return members
    }
}
