import BusCluster
import EtcdLog
import TestCertificates
import TestEtcd
import Testing

/// Who may speak to etcd, and to whom we speak.
@Suite(.enabled(if: TestEtcd.isInstalled, Comment(rawValue: TestEtcd.isMissing)))
struct TrustTests {
    @Test func userAndPasswordAreAskedFor() throws {
        let etcd = try TestEtcd()
        func enable() throws {
            try etcd.control("auth enable", user: "root:secret")
        }
        try etcd.control("user add root:secret")
        try etcd.control("user grant-role root root")
        try etcd.control("role add bus")
        try etcd.control("role grant-permission bus --prefix=true readwrite /fluxbus/home/")
        try etcd.control("user add bus:word")
        try etcd.control("user grant-role bus bus")

        // Users that nobody asks for do no harm.
        let owner = try LogOwner(etcd, bus: "home") { settings in
            settings.user = "bus"
            settings.password = "word"
        }
        owner.read()
        try owner.join("kitchen")
        try owner.proposeNext([0])
        try enable()
        try owner.proposeNext([1])
        // All tokens end; ours is renewed.
        try etcd.control("auth disable", user: "root:secret")
        try enable()
        try owner.proposeNext([2])
        try owner.catchUp()
        #expect(owner.entries.proposals == [[0], [1], [2]])

        for (user, password, bus) in [(nil, "", "home"), ("bus", "wrong", "home"), ("bus", "word", "other")] {
            let stranger = try LogOwner(etcd, bus: bus) { settings in
                settings.user = user
                settings.password = password
            }
            let failure = try stranger.waitDetached()
            #expect(failure.kind == .forbidden, "\(failure.message)")
        }
    }

    @Test func certificatesAreCheckedBothWays() throws {
        let (authority, stranger) = (try TestAuthority(), try TestAuthority("Stranger"))
        // An etcd's gateway is a client of its own.
        let server = try authority.client(
            "etcd", names: "DNS:localhost,IP:127.0.0.1", use: "serverAuth,clientAuth")
        let etcd = try TestEtcd(
            certificates: TestEtcd.Certificates(
                authority: authority.certificate, certificate: server.certificate, key: server.key))
        let ours = try authority.client("kitchen")
        let theirs = try stranger.client("kitchen")
        func owner(_ authority: TestAuthority, _ client: TestAuthority.Issued?) throws -> LogOwner {
            try LogOwner(etcd, bus: "home") { settings in
                settings.authority = authority.certificate
                settings.certificate = client?.certificate
                settings.key = client?.key
            }
        }
        let owned = try owner(authority, ours)
        owned.read()
        try owned.join("kitchen")
        try owned.proposeNext([1])
        try owned.catchUp()
        #expect(owned.entries.proposals == [[1]])

        let untrusting = try owner(stranger, ours).waitDetached()
        #expect(untrusting.kind == .untrusted, "\(untrusting.message)")
        for client in [nil, theirs] {
            // With TLS 1.3 our own bytes may meet a closed connection before the reason is read.
            let failure = try owner(authority, client).waitDetached()
            #expect([.untrusted, .unreachable].contains(failure.kind), "\(failure.message)")
            #expect(failure.message.contains("certificate"), "\(failure.message)")
        }
    }

    @Test func unusableSettingsAreRefusedAtOnce() {
        var settings = EtcdSettings(endpoints: [], bus: "home")
        func refusal() -> OrderedLogFailure? {
            do throws(OrderedLogFailure) {
                _ = try EtcdLog(settings)
                return nil
            } catch {
                return error
            }
        }
        #expect(refusal()?.kind == .unusable)
        settings.endpoints = ["10.0.0.1:2379"]
        #expect(refusal()?.message.contains("10.0.0.1:2379") == true)
        settings.endpoints = ["http://10.0.0.1:2379/"]
        #expect(refusal() != nil)
        settings = EtcdSettings(endpoints: ["http://10.0.0.1:2379"], bus: "a/b")
        #expect(refusal() != nil)
        settings.bus = "home"
        settings.key = "/key.pem"
        #expect(refusal() != nil)
    }
}
