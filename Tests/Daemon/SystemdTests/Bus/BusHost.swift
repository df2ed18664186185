import Foundation
import TestServer
import Testing

/// A booted system of its own with FluxBus installed as people install it (deploy/install), so that its units have their
/// real names beside those of other tests.
final class BusHost: Sendable {
    static let service = "fluxbusd.service"
    static let socket = "/run/fluxbus/bus.sock"

    let harness: Harness

    private static let installed: Result<BusHost, any Error> = Result {
        let host = try BusHost()
        atexit { if let host = try? BusHost.shared() { host.harness.end() } }
        return host
    }
    static func shared() throws -> BusHost { try installed.get() }

    private init() throws {
        harness = try Harness()
        // The unit as it is, but for the Swift runtime: these programs use that of the toolchain.
        try dropIn("runtime", ["ExecPaths=\(try Self.runtimeFolder())"])
        try harness.check(
            "\(Harness.packageInside)/deploy/install", "--prefix", "/usr", "--binaries",
            Harness.executablesInside)
        // The examples that tests use.
        for type in ["door", "thermostat"] {
            try harness.check(
                "cp", "/usr/share/fluxbus/examples/types/\(type).yaml", "/etc/fluxbus/types/")
        }
        // Whose stores members of the group dispatch to.
        try harness.check("sed", "-i", "s|counter/[*], |door/*, &|", "/etc/fluxbus/access.yaml")
        try systemctl("reload")
    }

    /// Where this process found the Swift runtime.
    static func runtimeFolder() throws -> String {
        // Files of /proc have no size, so they are read to their end.
        let handle = try #require(FileHandle(forReadingAtPath: "/proc/self/maps"))
        let maps = try String(decoding: handle.readToEnd() ?? Data(), as: UTF8.self)
        let line = maps.split(separator: "\n").first { $0.hasSuffix("/libswiftCore.so") }
        guard let path = line?.drop(while: { $0 != "/" }) else { return Harness.executablesInside }
        return URL(fileURLWithPath: String(path)).deletingLastPathComponent().path
    }

    func dropIn(_ name: String, _ lines: [String], unit: String = service, section: String = "Service") throws
    {
        try harness.write(
            "/run/systemd/system/\(unit).d/\(name).conf",
            "[\(section)]\n\(lines.joined(separator: "\n"))\n")
        try harness.check("systemctl", "daemon-reload")
    }

    func systemctl(_ verb: String, _ more: String...) throws {
        try harness.check(["systemctl", verb] + more + [Self.service])
    }

    func property(_ name: String) throws -> String { try harness.property(name, of: Self.service) }

    /// A client outside of all units; its uid is this process's.
    func connect() throws -> LineClient { try LineClient(service: harness.path(Self.socket)) }

    func fluxbus(_ arguments: String...) throws -> Harness.Outcome {
        try harness.run(["fluxbus"] + arguments)
    }

    /// Entries of the journal that match, as objects.
    func journal(_ matches: String...) throws -> [[String: Any]] {
        try harness.check("journalctl", "--sync")
        let text = try harness.check(["journalctl", "-o", "json", "--no-pager"] + matches)
        return text.split(separator: "\n").compactMap {
            (try? JSONSerialization.jsonObject(with: Data($0.utf8))) as? [String: Any]
        }
    }

    /// Returns once something that the manager learns a moment later holds; false when it never does.
    func comesTrue(_ condition: () throws -> Bool) rethrows -> Bool {
        let deadline = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < deadline {
            if try condition() { return true }
        }
        return false
    }
}
