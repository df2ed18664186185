import BusJSON
import BusProtocol
import BusSource

/// Members that stand where they mean nothing: misspelt, or at the wrong indentation.
extension DefinitionLoader {
    func refuseStrangers(in root: LocatedObject) {
        for member in root.strangers(besides: Self.members) {
            let key = member.key
            if ["of", "by", "values"].contains(key) {
                mistakes.add(
                    "\(key) belongs to a view; write view: instead of type: if this is one.", at: member.place
                )
            } else if Self.contains(Self.actionMembers, key) {
                mistakes.add(
                    "\(key) belongs to an action; write it below the action's name, indented further.",
                    at: member.place)
            } else if root["actions"]?.isNull == true, Self.looksLikeAction(member.value) {
                mistakes.add(
                    "\(key) is beside actions; write it below, indented further, if it is an action.",
                    at: member.place)
            } else {
                mistakes.add(
                    FileWords.unknownKey(key, in: "a state type", among: Self.members), at: member.place)
            }
        }
    }

    /// The members of an action; an action that has none is an empty object.
    func body(of member: LocatedObject.Member) throws(SourceError) -> LocatedObject {
        if member.value.isNull {
            throw member.value.failure(
                "The action \(member.key) must be an object, not null. Write { } if it changes nothing; "
                    + "indent its members further than its name.")
        }
        return try member.value.object("The action \(member.key)")
    }

    func refuseStrangers(in action: LocatedObject, of name: String) {
        for member in action.strangers(besides: Self.actionMembers) {
            let key = member.key
            if Self.contains(Self.members, key) {
                mistakes.add(
                    "\(key) belongs to the state type, not to the action \(name); write it beside actions.",
                    at: member.place)
            } else if UTF8Order.equal(key, "if") || UTF8Order.equal(key, "else") {
                mistakes.add(
                    "\(key) belongs to require, which is a list; write require: [{ if: …, else: … }].",
                    at: member.place)
            } else {
                mistakes.add(
                    FileWords.unknownKey(key, in: "an action", among: Self.actionMembers), at: member.place)
            }
        }
    }

    /// Refuses what is called like a member of an action and is none: it stands beside an action instead of in it. An
    /// action may have such a name, if it looks like one. Returns the names that nothing more is to be said about.
    func refuseMisplaced(in actions: LocatedObject) -> [String] {
        var owner: LocatedObject.Member?
        var refused: [String] = []
        for member in actions.members {
            guard Self.contains(Self.actionMembers, member.key), !Self.looksLikeAction(member.value) else {
                owner = member
                continue
            }
            let place = owner.map { "the action \($0.key)" } ?? "an action"
            mistakes.add(
                "\(member.key) is beside the actions; write it in \(place), indented further than its name.",
                at: member.place)
            refused.append(member.key)
            if let owner, owner.value.isNull { refused.append(owner.key) }
        }
        return refused
    }

    /// Whether a value may be meant as an action: an object of which at least one member is an action's.
    private static func looksLikeAction(_ value: LocatedValue) -> Bool {
        guard case .object(let object) = value.content else { return false }
        return object.isEmpty || object.keys.contains { contains(actionMembers, $0) }
    }

    private static func contains(_ names: [String], _ name: String) -> Bool {
        names.contains { UTF8Order.equal($0, name) }
    }
}
