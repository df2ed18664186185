import BusJSON
import BusLogic
import BusSource
import BusYAML
import Foundation
import TestFiles
import TestSupport

/// Files with access rules: they are refused with places, or come back from what the log keeps of them and judge anybody.
enum AccessTarget: FuzzTarget {
    static let name = "Access"

    static func seeds() throws -> [[UInt8]] {
        let rules = """
            roles: { admin: [{ user: root }], guest: [everyone, { token: "p-*", uid: 7 }] }
            rules:
              - { role: admin, may: all }
              - { role: guest, may: [read, dispatch], match: [a/*, "b/x?"], actions: [add], maxStores: 2 }
              - { role: guest, may: [create, drop], if: { "<": [{ var: who.uid }, { var: meta.time }] } }
              - { role: guest, may: read, match: "*/y", select: [/deep/one, /text] }
            """
        let installed = try Data(contentsOf: Repository.root.appendingPathComponent("config/access.yaml"))
        return [Array(rules.utf8), Array(installed)]
    }

    static func run(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var errors: [SourceError] = []
        do throws(SourceError) {
            let source = try LocatedValue.read(Array(bytes), file: "fuzz.yaml")
            // As a file that is looked at as a whole, for a bus with types.
            if AccessRules.load(source, types: SampleTypes.compiled, &errors) == nil {
                demand(!errors.isEmpty, "Rules are refused without a reason.")
            }
            for error in errors { demand(error.line > 0 && error.column > 0, "No place: \(error)") }
            let rules = try AccessRules(source)
            let again = try AccessRules(definition: rules.definition)
            demand(again.definition == rules.definition, "Rules do not come back from their definition.")
            for who in [Credentials(), everything] { judge(rules, again, who) }
            return true
        } catch {
            demand(error.line > 0 && error.column > 0, "An error has no place: \(error)")
            return false
        }
    }

    private static var everything: Credentials {
        var who = Credentials()
        (who.uid, who.user, who.groups, who.token, who.client) = (7, "root", ["sudo"], "p-1", "panel")
        return who
    }

    /// Both say the same of somebody.
    private static func judge(_ rules: AccessRules, _ again: AccessRules, _ who: Credentials) {
        let (one, other) = (rules.roles(of: who), again.roles(of: who))
        demand(one == other, "Roles differ: \(one), \(other)")
        let (grants, same) = (rules.grants(to: one), again.grants(to: other))
        for name in ["x1", "y", ""] {
            let (first, second) = (
                grants.dispatching("add", to: name, ofType: "a").count,
                same.dispatching("add", to: name, ofType: "a").count
            )
            demand(first == second, "Rules for a/\(name) differ.")
            demand(
                grants.shows(name, ofType: "b") == same.shows(name, ofType: "b"),
                "What is shown of b/\(name) differs.")
        }
        demand(grants.mayManage == same.mayManage, "Who manages differs.")
    }
}
