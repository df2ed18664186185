import BusLogic
import BusServer
import FluxBusDaemon
import TestFiles
import Testing

/// What a custom daemon looks at before it opens anything.
@Suite struct StartTests {
    private let directory = TemporaryDirectory()

    private func setup(_ files: [String: String], stores: [String]) throws -> ServerSetup {
        for (name, text) in files { try directory.write(name, text) }
        return try ServerSetup.load(
            flags: ConfigurationOverrides(
                config: nil, listen: ["unix:\(directory.path)/unused"], tokens: nil, types: directory.path,
                stores: stores,
                limits: []),
            environment: ConfigurationOverrides(environment: [:]), defaultFile: "/nonexistent/fluxbusd.yaml",
            natives: FluxBusDaemon.compile([Tally.self]))
    }

    private let door = "type: door\ninitial: { open: false }\n"
    private let zone = "type: zone\ninitial: { open: false }\nwaitFor: [tally]\n"

    @Test func declaredAndCompiledTypesStandSideBySideByName() throws {
        let setup = try setup(["door.yaml": door, "zone.yaml": zone], stores: ["tally/main", "door/front"])
        #expect(setup.types.map(\.name) == ["door", "tally", "zone"])
    }

    @Test func aFileOfTheSameNameRefusesTheStart() throws {
        let failure = try #require(
            #expect(throws: StartFailure.self) {
                try setup(["door.yaml": door, "mine.yaml": Tally.declared], stores: [])
            })
        #expect(failure.code.rawValue == 78)
        #expect(failure.messages.count == 1)
        #expect(
            failure.description
                == "\(directory.path)/mine.yaml:1:7: This daemon has a type tally of its own; rename this one."
        )
    }
}
