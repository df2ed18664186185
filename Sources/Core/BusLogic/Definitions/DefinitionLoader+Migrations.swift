import BusJSON
import BusProtocol
import BusSource
import BusState

/// `version` and `migrate`: which version of the type this is, and how the ones before it lead to it.
extension DefinitionLoader {
    /// The highest version: each needs a step, and a type that changed every day would need centuries.
    private static let versions = 1...10_000

    mutating func loadMigrations(_ root: LocatedObject) throws(SourceError) -> Migrations {
        let version = try root["version"]?.int("version", in: Self.versions) ?? 1
        let steps = try root["migrate"]?.object("migrate")
        for member in steps?.members ?? [] {
            guard let from = Int(member.key), String(from) == member.key, from >= 1 else {
                throw SourceError(
                    "\(member.key) is not a version; each member of migrate is called as the version it starts from, such as 1.",
                    at: member.place)
            }
            guard from < version else {
                let next = from == version ? "set version: \(version + 1), or leave" : "leave"
                throw SourceError(
                    "The step from version \(from) leads beyond version \(version) of this type; \(next) it out.",
                    at: member.place)
            }
        }
        var loaded: [Migrations.Step?] = []
        for from in 1..<max(1, version) {
            guard let step = steps?[String(from)] else {
                if mayLackCode {
                    loaded.append(nil)
                    continue
                }
                throw SourceError(
                    "Version \(version) needs a step from version \(from) to \(from + 1); write it under migrate: \(from): { set: …, unset: … }, or {} where nothing but new members of initial is needed.",
                    at: (root["version"]?.place ?? root.place))
            }
            loaded.append(try loadStep(step, from: from))
        }
        return Migrations(steps: loaded)
    }

    private mutating func loadStep(_ source: LocatedValue, from version: Int) throws(SourceError)
        -> Migrations.Step
    {
        let step = try source.object("The step from version \(version)")
        try step.refuseMembers(besides: Self.writeMembers, of: "a step of migrate")
        var compiler = compiler(nil)
        defer { usesText = usesText || compiler.hasText }
        let scope = ExpressionScope(data: .migration)
        let place = ["migrate", String(version)]
        let parts = loadWrites(of: step, at: place, in: scope, LoadedPayload([]), &compiler)
        // What comes of all steps is held against `state`, and not each write.
        return Migrations.Step(
            Self.dynamicParts(parts) { (write, _) in
                WriteStep(write.kind, write.path, value: write.value, bits: nil)
            })
    }
}
