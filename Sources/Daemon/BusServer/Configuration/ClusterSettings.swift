import BusSource
import BusTLS
import EtcdLog

/// The settings under `cluster:`: one bus over several machines.
package struct ClusterSettings: Sendable {
    /// Names the bus, on all its machines.
    package var bus: Located<String>
    /// Addresses of the etcd's servers, such as `https://10.0.0.1:2379`.
    package var etcd: [Located<String>]
    /// A PEM file with the authorities of etcd's certificates; nil: those that the system trusts.
    package var ca: Located<String>?
    /// PEM files with this machine's certificate and its key: both or none.
    package var certificate: Located<String>?
    package var key: Located<String>?
    /// Who this machine is to etcd, and the file with the password: both or none.
    package var user: String?
    package var passwordFile: Located<String>?
    /// This machine's name among the members of the bus.
    package var member: String
    /// Where other members get snapshots from this one: `unix:/path` or `tls:HOST:PORT`.
    package var advertise: String?
    /// Members through which this one reads the shared log, likewise; the first that delivers.
    package var from: [Located<String>] = []
    /// How long a silent member keeps its sessions. Whole seconds.
    package var lease = Duration.seconds(10)
    /// Where `cluster` stands.
    package let place: Place

    package init(bus: Located<String>, etcd: [Located<String>], member: String, at place: Place) {
        self.bus = bus
        self.etcd = etcd
        self.member = member
        self.place = place
    }

    /// All of it by name, with the password that its file had, to see what has changed.
    package func values(password: String) -> KeyValuePairs<String, String> {
        [
            "bus": bus.value, "etcd": etcd.map(\.value).joined(separator: " "), "ca": ca?.value ?? "",
            "certificate": certificate?.value ?? "", "key": key?.value ?? "", "user": user ?? "",
            "password-file": "\(passwordFile?.value ?? "") \(password)", "member": member,
            "advertise": advertise ?? "", "from": from.map(\.value).joined(separator: " "),
            "lease": "\(lease)",
        ]
    }

    /// The same for the shared log.
    package func etcdSettings(password: String) -> EtcdSettings {
        var settings = EtcdSettings(endpoints: etcd.map(\.value), bus: bus.value)
        settings.authority = ca?.value
        settings.certificate = certificate?.value
        settings.key = key?.value
        settings.user = user
        settings.password = password
        settings.lease = lease
        return settings
    }

    // MARK: - Files

    /// The longest password: etcd hashes the first 72 bytes only, and everything has a bound.
    private static let longestPassword = 1024

    /// The password of `user` as it stands in its file now; empty without a user, nil after adding what is wrong.
    func password(_ errors: inout ConfigurationErrors) -> String? {
        guard let passwordFile else { return "" }
        return errors.collect { () throws(SourceError) in
            let bytes = try FileBytes.read(
                passwordFile, what: "the password file", accept: FileBytes.refusalOfSecret)
            var line = bytes[...]
            if line.last == UInt8(ascii: "\n") { line.removeLast() }
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            // The file holds a secret: it is not shown.
            func failure(_ message: String) -> SourceError {
                SourceError("the password file \(passwordFile.value) \(message)", at: passwordFile.place)
            }
            if line.isEmpty { throw failure("has no password in it; write that of the user in etcd.") }
            guard line.count <= Self.longestPassword else {
                throw failure(
                    "has more than \(Self.longestPassword) bytes in its line; write nothing but the password."
                )
            }
            guard line.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }),
                let password = String(validating: line, as: UTF8.self)
            else { throw failure("has more in it than one line of text; write nothing but the password.") }
            return password
        }
    }

    /// Checks that the PEM files can be used and belong together. When they end is between this machine and etcd: until they
    /// are renewed, a bus that is detached serves what it has.
    func checkFiles(_ errors: inout ConfigurationErrors) {
        func certificates(_ path: Located<String>?, _ what: String) -> [TLSCertificate]? {
            guard let path else { return nil }
            return TLSFiles.read(path, what, &errors) { (bytes) throws(TLSFailure) in
                try TLSCertificate.all(inPEM: bytes)
            }
        }
        _ = certificates(ca, "the file of etcd's authorities")
        let chain = certificates(certificate, "the certificate")
        guard let certificate, let key else { return }
        let secret = TLSFiles.read(key, "the key", accept: TLSFiles.refusalOfKey, &errors) {
            (bytes) throws(TLSFailure) in try TLSKey(inPEM: bytes)
        }
        if let first = chain?.first, let secret, !secret.fits(first) {
            errors.add(TLSFiles.mismatch(of: key, certificate), at: key.place)
        }
    }
}
