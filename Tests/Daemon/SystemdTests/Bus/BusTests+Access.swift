import Foundation
import Testing

/// The rules that the installed service has: who is in its group reads all and dispatches, but to no effect; root manages.
extension BusTests {
    /// What the command line says when a user of the machine calls it.
    private func fluxbus(as user: String, _ arguments: [String]) throws -> Harness.Outcome {
        try host.harness.run(
            ["setpriv", "--reuid", user, "--regid", "fluxbus", "--init-groups", "fluxbus"] + arguments)
    }

    @Test func membersOfTheGroupDispatchAndRootManages() throws {
        try host.harness.check("useradd", "--no-create-home", "--groups", "fluxbus", "ada")
        defer { _ = try? host.harness.run("userdel", "ada") }
        let whoami = try fluxbus(as: "ada", ["whoami"])
        #expect(whoami.output.contains("member") && !whoami.output.contains("admin"), "\(whoami)")
        #expect(try fluxbus(as: "ada", ["dispatch", "counter/main", "increment"]).status == 0)
        #expect(try fluxbus(as: "ada", ["get", "counter/main"]).status == 0)
        for refused in [
            ["create", "counter/of-ada"], ["drop", "counter/main"], ["reload"],
            ["dispatch", "effect/bell", "resume"],
        ] {
            let outcome = try fluxbus(as: "ada", refused)
            #expect(outcome.status == 77, "\(refused): \(outcome)")
            #expect(outcome.errors.contains("access rules"), "\(outcome.errors)")
        }
        let denial = try host.journal("MESSAGE_ID=d91c48ae46c34f2e9d11eac7612cf366").last
        #expect(denial?["FLUXBUS_UID"] as? String == (try host.harness.check("id", "-u", "ada")))
        // Somebody who is in no role opens the socket, and that is all.
        let stranger = try fluxbus(as: "daemon", ["get", "counter/main"])
        #expect(stranger.status == 77, "\(stranger)")
        // Root, which these tests run as.
        #expect(try host.fluxbus("create", "counter/of-root").status == 0)
        #expect(try host.fluxbus("drop", "counter/of-root").status == 0)
        #expect(try host.fluxbus("whoami").output.contains("admin"))
    }
}
