import Foundation
import TestCertificates
import TestFiles
import TestServer
import Testing

/// The page that leads from one machine to three: its files are such that the programs take them.
@Suite("The page on clustering", .timeLimit(.minutes(10)))
struct ClusteringPageTests {
    private static let path = "Sources/Daemon/BusServer/BusServer.docc/Clustering.md"
    private let page: MarkdownPage

    init() throws { page = try MarkdownPage(Self.path) }

    /// The configuration, with certificates and the rules that the page asks for, is right.
    @Test func configurationIsRight() throws {
        let block = try #require(page.blocks("yaml").first { $0.text.contains("\ncluster:\n") })
        let directory = TemporaryDirectory()
        let authority = try TestAuthority()
        let issued = try authority.client("kitchen", names: "IP:10.0.0.1", use: "serverAuth,clientAuth")
        for (name, file) in [
            ("home-ca.pem", authority.certificate), ("kitchen.pem", issued.certificate),
            ("kitchen.key", issued.key),
        ] { try directory.write("tls/\(name)", try String(contentsOfFile: file, encoding: .utf8)) }
        // This machine has another address.
        let configuration = block.text.replacing("tls: 10.0.0.1:", with: "tls: 127.0.0.1:")
            .replacing("/var/lib/fluxbus", with: directory.path)
        let file = try directory.write(
            "fluxbusd.yaml",
            configuration + """
                types: \(Repository.sampleTypes)
                access:
                  roles: { admin: [{ user: root }], members: [{ certificate: "CN=hall" }] }
                  rules: [{ role: admin, may: all }, { role: members, may: manage }]
                """)
        let outcome = try RunningProgram.run("fluxbusd", ["--config", file, "--check"])
        #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
        #expect((outcome.output + outcome.errors).contains("of the bus home"))
    }

    /// What the unit forbids and a member or a client with TLS needs, the drop-in allows, under names that the unit has.
    @Test func dropInIsForTheUnitThatIsInstalled() throws {
        let operating = try MarkdownPage("Sources/Daemon/BusServer/BusServer.docc/Operating.md")
        let text = try #require(operating.blocks("ini").first).text
        let manual = try Repository.text("deploy/man/fluxbusd.yaml.5")
        #expect(manual.contains(text), "fluxbusd.yaml(5) has the same drop-in")
        let dropIn = text.split(separator: "\n").dropFirst()
        let unit = try Repository.text("deploy/fluxbusd.service").split(separator: "\n")
        func setting(_ line: Substring) -> Substring { line.prefix { $0 != "=" } }
        for line in dropIn {
            let name = setting(line).replacing("IPAddressAllow", with: "IPAddressDeny")
            #expect(unit.contains { setting($0) == name }, "\(line)")
        }
        for line in ["PrivateNetwork=yes", "RestrictAddressFamilies=AF_UNIX", "IPAddressDeny=any"] {
            #expect(unit.contains { $0 == line }, "the page says how to undo \(line)")
        }
        #expect(dropIn.last == "ExecStart=/usr/bin/fluxbusd")
    }

    /// What the page tells about one server holds for all: each address that it listens on is one that others are told.
    @Test func everyMemberIsTold() throws {
        let text = try #require(page.blocks("sh").first { $0.text.contains("ETCD_NAME") }).text
        var settings: [Substring: Substring] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1)
            settings[parts[0]] = parts[1]
        }
        #expect(settings["ETCD_LISTEN_CLIENT_URLS"] == settings["ETCD_ADVERTISE_CLIENT_URLS"])
        #expect(settings["ETCD_LISTEN_PEER_URLS"] == settings["ETCD_INITIAL_ADVERTISE_PEER_URLS"])
        let own = "\(settings["ETCD_NAME"] ?? "")=\(settings["ETCD_LISTEN_PEER_URLS"] ?? "")"
        #expect(settings["ETCD_INITIAL_CLUSTER"]?.split(separator: ",").contains { $0 == own } == true)
        #expect(settings["ETCD_AUTO_COMPACTION_RETENTION"] == nil)
        let member = try #require(page.blocks("yaml").first { $0.text.contains("\ncluster:\n") }).text
        #expect(member.contains(settings["ETCD_LISTEN_CLIENT_URLS"] ?? "none"))
    }
}
