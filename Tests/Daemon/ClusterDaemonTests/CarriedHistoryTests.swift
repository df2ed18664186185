import TestEtcd
import TestFiles
import TestServer
import Testing

/// A member's log holds the history of the bus, which another bus may have.
@Suite(.serialized, .enabled(if: TestEtcd.isInstalled, "\(TestEtcd.isMissing)"))
struct CarriedHistoryTests {
    private func fluxbus(_ arguments: [String]) throws -> String {
        let outcome = try RunningProgram.run("fluxbus", arguments)
        guard outcome.status == 0 else { throw TestCluster.Failure(description: outcome.errors) }
        return outcome.output
    }

    @Test func oneMachineGoesOnWithTheHistoryOfASharedBus() throws {
        let cluster = try TestCluster(["a", "b"], servers: 1)
        let client = try cluster["a"].client()
        let keyed = #"{"op":"dispatch","store":"counter/main","action":"increment","key":"once"}"#
        #expect(try client.ask(keyed).contains(#""ok":true"#))
        for _ in 0..<20 {
            _ = try client.ask(#"{"op":"dispatch","type":"counter","action":"increment"}"#)
        }
        let member = cluster["b"]
        _ = try member.client().ask(#"{"op":"sync"}"#)
        let plain = try fluxbus(["--address", member.address, "export"])
        let bus = try DaemonBus(hasLog: true)
        for (file, text) in ClusterTypes.files { try bus.directory.write("types/\(file)", text) }
        let history = "\(bus.directory.path)/history.ndjson"
        _ = try fluxbus(["--address", member.address, "export", "--faithful", "-o", history])
        _ = try fluxbus(["import", history, "--faithful", "--log", bus.log])

        let daemon = try bus.start()
        #expect(try bus.client().epoch() == client.epoch())
        #expect(try fluxbus(["--address", bus.address, "export"]) == plain)
        // A user of a member's machine is another one than the user of this machine with the same number.
        #expect(try !bus.client().ask(keyed).contains("duplicate"))
        #expect(try bus.stop(daemon) == 0)
        #expect(try RunningProgram.run("fluxbusd", ["--log", bus.log, "--verify"]).status == 0)
    }
}
