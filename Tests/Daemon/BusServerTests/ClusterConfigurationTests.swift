import BusServer
import EtcdLog
import Foundation
import TestCertificates
import TestFiles
import Testing

/// `cluster:` of the configuration: what it may say, and that whatever is wrong is told with its line.
struct ClusterConfigurationTests {
    private let directory = TemporaryDirectory()
    private var file: String { "\(directory.path)/fluxbusd.yaml" }

    /// A configuration whose second line is this one.
    private func setup(
        _ cluster: String, log: String = "log: { path: bus.sqlite }",
        flags: ConfigurationOverrides = ConfigurationOverrides()
    ) throws -> ServerSetup {
        try directory.write("fluxbusd.yaml", "listen: [{ unix: s }]\n\(cluster)\n\(log)\n")
        return try ServerSetup.load(
            flags: flags, environment: ConfigurationOverrides(environment: [:]), defaultFile: file)
    }

    private func settings(_ cluster: String) throws -> ClusterSettings {
        try #require(try setup(cluster).configuration.cluster)
    }

    private static let least = "bus: home, etcd: [http://127.0.0.1:2379]"

    @Test func everythingThatTheSampleShowsIsTaken() throws {
        let authority = try TestAuthority()
        let machine = try authority.server("kitchen")
        try directory.write("etcd-password", "correct horse battery staple\n")
        let setup = try setup(
            """
            cluster:
              bus: home
              etcd: [https://10.0.0.1:2379, "https://[fd00::2]:2379", https://etcd3.home:2379]
              ca: \(authority.certificate)
              certificate: \(machine.certificate)
              key: \(machine.key)
              user: kitchen
              password-file: etcd-password
              member: kitchen-2
              advertise: tls:10.0.0.4:7412
              lease: 1m
            """)
        let cluster = try #require(setup.configuration.cluster)
        #expect(cluster.bus.value == "home")
        #expect(cluster.user == "kitchen")
        #expect(cluster.passwordFile?.value == "\(directory.path)/etcd-password")
        #expect(cluster.member == "kitchen-2")
        #expect(cluster.advertise == "tls:10.0.0.4:7412")
        let etcd = cluster.etcdSettings(password: setup.etcdPassword)
        #expect(
            etcd.endpoints == [
                "https://10.0.0.1:2379", "https://[fd00::2]:2379", "https://etcd3.home:2379",
            ])
        #expect(etcd.bus == "home")
        #expect(etcd.authority == authority.certificate)
        #expect(etcd.certificate == machine.certificate)
        #expect(etcd.key == machine.key)
        #expect(etcd.user == "kitchen")
        #expect(etcd.password == "correct horse battery staple")
        #expect(etcd.lease == .seconds(60))
    }

    @Test func whatIsLeftOutIsTheUsual() throws {
        #expect(try setup("cluster:").configuration.cluster == nil)
        let usual = try settings("cluster: { \(Self.least), member: m, user: , lease: , advertise: , ca: }")
        #expect(usual.lease == .seconds(10))
        #expect(usual.advertise == nil)
        let etcd = usual.etcdSettings(password: "")
        #expect(etcd.user == nil && etcd.authority == nil && etcd.certificate == nil && etcd.key == nil)
        #expect(etcd.lease == .seconds(10))
    }

    @Test(arguments: [
        ("kitchen", "kitchen"), ("Kitchen.Home.example", "kitchen"), ("node-7_b", "node-7_b"),
        ("", nil), (".home", nil), ("k\u{fc}che", nil), ("a b", nil),
        (String(repeating: "a", count: 64), String(repeating: "a", count: 64)),
        (String(repeating: "a", count: 65), nil),
    ])
    func aMemberIsCalledAsItsMachine(host: String, member: String?) {
        #expect(HostName.member(of: host) == member)
    }

    @Test func thisMachinesNameIsTakenWhereItCanBe() throws {
        let text = "cluster: { \(Self.least) }"
        if let member = HostName.member(of: HostName.read()) {
            #expect(try settings(text).member == member)
        } else {
            let failure = try #require(throws: StartFailure.self) { try setup(text) }
            #expect(failure.messages.contains { $0.contains("name the member under member:") })
        }
    }

    @Test func everyKindOfAddressIsAdvertised() throws {
        let socket = "unix:/run/fluxbus/bus.sock"
        #expect(try settings("cluster: { \(Self.least), advertise: \"\(socket)\" }").advertise == socket)
        // Members need certificates also where etcd asks for none.
        let authority = try TestAuthority()
        defer { withExtendedLifetime(authority) {} }
        let machine = try authority.server("kitchen")
        let files = "certificate: \(machine.certificate), key: \(machine.key)"
        for address in ["tls:kitchen.home:7412", "tls:[fd00::4]:7412"] {
            let text = "cluster: { \(Self.least), \(files), advertise: \"\(address)\" }"
            #expect(try settings(text).advertise == address)
        }
    }

    @Test(arguments: [("2s", 2), ("90s", 90), ("10m", 600)])
    func leaseIsALengthOfTime(text: String, seconds: Int) throws {
        #expect(try settings("cluster: { \(Self.least), lease: \(text) }").lease == .seconds(seconds))
    }

    /// What stands in the second line between the braces, the column of the complaint, and what it says.
    static let wrong: [(String, Int, String)] = [
        ("etcd: [http://e:2379]", 1, "cluster: needs bus:"),
        ("bus: , etcd: [http://e:2379]", 1, "cluster: needs bus:"),
        ("bus: 7, etcd: [http://e:2379]", 17, "cluster.bus must be a string"),
        ("bus: Home, etcd: [http://e:2379]", 17, "`Home` can't be a bus's name; use at most 64 of a-z"),
        ("bus: '', etcd: [http://e:2379]", 17, "`` can't be a bus's name"),
        ("bus: a/b, etcd: [http://e:2379]", 17, "`a/b` can't be a bus's name"),
        ("bus: home", 1, "cluster: needs etcd:"),
        ("bus: home, etcd: []", 29, "cluster.etcd is empty"),
        ("bus: home, etcd: http://e:2379", 29, "cluster.etcd must be a list"),
        ("bus: home, etcd: [2379]", 30, "an address of cluster.etcd must be a string"),
        (
            "bus: home, etcd: [e:2379]", 30,
            "e:2379 is not an address of an etcd; write it as https://HOST:2379."
        ),
        ("bus: home, etcd: [https://e]", 30, "is not an address of an etcd"),
        ("bus: home, etcd: [https://e:2379/]", 30, "is not an address of an etcd"),
        ("bus: home, etcd: [https://e:2379/v3]", 30, "is not an address of an etcd"),
        ("bus: home, etcd: ['https://:2379']", 30, "is not an address of an etcd"),
        ("bus: home, etcd: [https://e:0]", 30, "is not an address of an etcd"),
        ("bus: home, etcd: [https://e:+1]", 30, "is not an address of an etcd"),
        ("bus: home, etcd: [https://e:65536]", 30, "is not an address of an etcd"),
        ("bus: home, etcd: ['https://e e:1']", 30, "is not an address of an etcd"),
        ("bus: home, etcd: ['https://[e]:1']", 30, "is not an address of an etcd"),
        ("bus: home, etcd: ['https://fd00::1:1']", 30, "is not an address of an etcd"),
        ("bus: home, etcd: [ftp://e:2379]", 30, "is not an address of an etcd"),
        ("bus: home, etcd: [https://me:secret@e:1]", 30, "write user: and password-file: beside etcd:"),
        (
            "bus: home, etcd: [https://e:1, https://e:1]", 43,
            "duplicate address `https://e:1`; keep one of them."
        ),
    ]

    /// The same behind a bus and an etcd.
    static let wrongFurther: [(String, Int, String)] = [
        ("membr: m", 54, "unknown key `membr` in cluster; did you mean `member`?"),
        ("advertize: m", 54, "did you mean `advertise`?"),
        ("passwordfile: m", 54, "did you mean `password-file`?"),
        ("lesase: 10s", 54, "did you mean `lease`?"),
        ("certificat: m", 54, "did you mean `certificate`?"),
        ("member: 7", 62, "cluster.member must be a string"),
        ("member: Kitchen", 62, "`Kitchen` can't be a member's name; use at most 64 of a-z"),
        ("member: kitchen/1", 62, "can't be a member's name"),
        ("member: \(String(repeating: "k", count: 65))", 62, "can't be a member's name"),
        ("advertise: 7", 65, "cluster.advertise must be a string"),
        (
            "advertise: kitchen", 65,
            "kitchen is not an address; write unix:/path or tls:HOST:PORT."
        ),
        ("advertise: tcp:e:1", 65, "tcp:e:1 lets in only who has a token, and members have none; write tls:"),
        ("from: [tcp:e:1]", 61, "tcp:e:1 lets in only who has a token"),
        (
            "advertise: tls:e:1", 65,
            "tls:e:1 lets members in by their certificates; name this one's under certificate: and key:."
        ),
        ("from: tls:e:1", 60, "tls:e:1 lets members in by their certificates"),
        ("advertise: tsl:e:1", 65, "tsl is not a kind of address; did you mean `tls`?"),
        ("advertise: systemd:bus", 65, "systemd is not a kind of address"),
        ("advertise: tls:e", 65, "tls:e names no host and port; write tls:HOST:PORT"),
        ("advertise: tls:e:0", 65, "names no host and port"),
        ("advertise: 'tls::1'", 65, "names no host and port"),
        ("advertise: 'tls:fd00::1:1'", 65, "names no host and port"),
        ("advertise: tls:0.0.0.0:7412", 65, "stands for every address of a machine"),
        ("advertise: 'tls:[::]:7412'", 65, "stands for every address of a machine"),
        ("advertise: unix:bus.sock", 65, "write an absolute path"),
        ("advertise: 'unix:'", 65, "the path is empty"),
        ("advertise: 'unix:/\(String(repeating: "x", count: 107))'", 65, "The path has 108 bytes"),
        ("from: 7", 60, "cluster.from must be"),
        ("from: [kitchen]", 61, "kitchen is not an address"),
        ("from: [tls:e:1, tls:e:1]", 70, "duplicate address `tls:e:1`"),
        (
            "advertise: tls:e:1, from: tls:e:1", 80,
            "tls:e:1 is where others reach this member; name another one"
        ),
        ("lease: 10", 61, "cluster.lease must be a length of time such as 10s or 1m, not an integer"),
        ("lease: 10x", 61, "such as 10s or 1m"),
        ("lease: 1s", 61, "cluster.lease must be within 2s and 10m."),
        ("lease: 601s", 61, "cluster.lease must be within 2s and 10m."),
        ("lease: 1d", 61, "cluster.lease must be within 2s and 10m."),
        ("user: me", 60, "user needs a password"),
        ("user: 7, password-file: p", 60, "cluster.user must be a string"),
        ("user: '', password-file: p", 60, "cluster.user is empty"),
        ("password-file: p", 69, "password-file needs a user"),
        ("user: me, password-file: 7", 79, "cluster.password-file must be a string"),
        ("user: me, password-file: ''", 79, "cluster.password-file is empty"),
        ("user: me, password-file: nowhere", 79, "nowhere can't be read: No such file or directory."),
        ("certificate: c", 67, "certificate needs its key; name the PEM file under key:."),
        ("key: k", 59, "key needs its certificate; name the PEM file under certificate:."),
        ("ca: 7", 58, "cluster.ca must be a string"),
        ("ca: ''", 58, "cluster.ca is empty"),
        ("ca: nowhere", 58, "nowhere can't be read: No such file or directory."),
        ("ca: fluxbusd.yaml", 58, "can't be used: there is no certificate in it"),
        ("certificate: nowhere, key: k", 67, "nowhere can't be read"),
        ("certificate: c, key: nowhere", 75, "nowhere can't be read"),
    ]

    private func expectRefusal(_ text: String, _ place: String, _ words: String) throws {
        let failure = try #require(throws: StartFailure.self, "\(text) was taken") { try setup(text) }
        #expect(failure.code == .configuration)
        #expect(
            failure.messages.contains { $0.hasPrefix("\(file):\(place): ") && $0.contains(words) },
            "\(text) gave \(failure.messages), not \(place) \(words)")
        #expect(!failure.description.contains("secret"))
    }

    @Test(arguments: wrong.indices) func whatIsWrongIsToldWithItsLine(index: Int) throws {
        let (text, column, words) = Self.wrong[index]
        try expectRefusal("cluster: { \(text) }", "2:\(column)", words)
    }

    @Test(arguments: wrongFurther.indices) func whatIsWrongFurtherOnIsToldWithItsLine(index: Int) throws {
        let (text, column, words) = Self.wrongFurther[index]
        try expectRefusal(
            "cluster: { bus: home, etcd: ['https://e.home:2379'], \(text) }", "2:\(column)", words)
    }

    @Test func aClusterIsAnObject() throws {
        try expectRefusal("cluster: home", "2:10", "cluster must be an object")
    }

    @Test(arguments: ["ca", "certificate", "key"])
    func withoutTLSItsFilesAreRefused(member: String) throws {
        try expectRefusal(
            "cluster: { \(Self.least), \(member): x }", "2:54",
            "\(member) is for addresses of etcd with https://")
    }

    @Test func everythingThatIsWrongIsToldAtOnce() throws {
        let failure = try #require(throws: StartFailure.self) {
            try setup(
                """
                cluster:
                  etcd: [e]
                  membr: kitchen
                  advertise: here
                  lease: 1s
                """)
        }
        #expect(failure.messages.map { $0.split(separator: ":")[1] } == ["2", "3", "4", "5", "6"])
    }

    // MARK: - The local copy

    @Test func withoutALogThereIsNoCluster() throws {
        let text = "cluster: { \(Self.least) }"
        let failure = try #require(throws: StartFailure.self) { try setup(text, log: "") }
        #expect(failure.messages.count == 1)
        #expect(failure.messages[0].hasPrefix("\(file):2:1: cluster: needs log:"))
        // A flag names it as well as the file does.
        let flags = ConfigurationOverrides(log: "\(directory.path)/flag.sqlite")
        #expect(try setup(text, log: "", flags: flags).configuration.cluster?.bus.value == "home")
        // What is wrong with the log is told, and nothing that follows from it.
        let wrong = try #require(throws: StartFailure.self) { try setup(text, log: "log: { pth: x }") }
        #expect(!wrong.description.contains("cluster"), "\(wrong)")
    }

    // MARK: - Files

    private static let withPassword = "cluster: { \(least), user: me, password-file: p }"

    @Test(arguments: [
        ("hunter2", "hunter2"), ("hunter2\r\n", "hunter2"), (" a b \n", " a b "), ("\u{fc}\n", "\u{fc}"),
    ])
    func aPasswordIsALine(text: String, password: String) throws {
        try directory.write("p", text)
        #expect(try setup(Self.withPassword).etcdPassword == password)
    }

    @Test(arguments: [
        ("", "has no password in it"), ("\n", "has no password in it"),
        ("secret\n\n", "has more in it than one line of text"), ("secret\nmore", "more in it than one line"),
        ("secret\0", "more in it than one line"),
        (String(repeating: "secret", count: 200), "has more than 1024 bytes"),
    ])
    func aWrongPasswordFileIsToldWhereItIsNamed(text: String, words: String) throws {
        try directory.write("p", text)
        try expectRefusal(Self.withPassword, "2:79", words)
    }

    @Test func aPasswordIsUTF8() throws {
        let path = try directory.write("p", "")
        try Data([0x73, 0xff]).write(to: URL(fileURLWithPath: path))
        try expectRefusal(Self.withPassword, "2:79", "more in it than one line of text")
    }

    @Test(arguments: [0o640, 0o604, 0o666] as [UInt32])
    func aPasswordThatOthersCanReadIsRefused(mode: UInt32) throws {
        try directory.write("p", "secret", mode: mode)
        try expectRefusal(
            Self.withPassword, "2:79", "may be read by others than its owner; run chmod 600 on it.")
    }

    @Test func reloadReadsThePasswordAgain() throws {
        try directory.write("p", "one\n")
        let setup = try setup(Self.withPassword)
        try directory.write("p", "two\n")
        #expect(try setup.reloaded().etcdPassword == "two")
        try directory.write("p", "two\n", mode: 0o644)
        let failure = try #require(throws: StartFailure.self) { try setup.reloaded() }
        #expect(failure.messages[0].hasPrefix("\(file):2:79: the password file"))
    }

    @Test func filesThatDoNotFitAreRefused() throws {
        let authority = try TestAuthority()
        let machine = try authority.server("kitchen")
        let other = try authority.server("hall")
        func text(_ certificate: String, _ key: String) -> String {
            "cluster: { bus: home, etcd: ['https://e:1'], certificate: \(certificate), key: \(key) }"
        }
        #expect(throws: Never.self) { try setup(text(machine.certificate, machine.key)) }
        let key = text(machine.certificate, "").utf8.count - 1
        try expectRefusal(
            text(machine.certificate, other.key), "2:\(key)",
            "the key \(other.key) does not belong to the certificate \(machine.certificate)")
        let open = try directory.write(
            "open.key", String(contentsOfFile: machine.key, encoding: .utf8), mode: 0o644)
        try expectRefusal(text(machine.certificate, open), "2:\(key)", "may be read by everybody")
    }

    // MARK: - What is shown

    @Test func summaryNamesTheMemberAndTheBus() throws {
        let member = try setup("cluster: { \(Self.least), member: kitchen }")
        #expect(
            member.summary(addresses: ["a"])
                == "a; no types; 0 configured stores; member kitchen of the bus home")
        #expect(try setup("").summary(addresses: ["a"]) == "a; no types; 0 configured stores")
    }
}
