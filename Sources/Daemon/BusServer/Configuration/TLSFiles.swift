import BusSource
import BusTLS
import Glibc

/// What TLS needs at one address, as the configuration names it.
package struct TLSFiles: Sendable, Equatable {
    /// The certificate of this bus, then those it is issued by.
    package let certificate: Located<String>
    package let key: Located<String>
    /// The authorities of clients; nil: no certificate is asked for.
    package let clients: Located<String>?
    /// A client without a certificate is refused.
    package let requiresCertificate: Bool

    /// Reads the files and checks that they fit together; nil after adding what is wrong.
    func context(at place: Place, _ errors: inout ConfigurationErrors) -> TLSContext? {
        let chain = Self.read(certificate, "the certificate", &errors) { (bytes) throws(TLSFailure) in
            try TLSCertificate.all(inPEM: bytes)
        }
        let secret = Self.read(key, "the key", accept: Self.refusalOfKey, &errors) {
            (bytes) throws(TLSFailure) in
            try TLSKey(inPEM: bytes)
        }
        var authorities: [TLSCertificate]? = []
        if let clients {
            authorities = Self.read(clients, "the file of clients' authorities", &errors) {
                (bytes) throws(TLSFailure) in try TLSCertificate.all(inPEM: bytes)
            }
        }
        let before = errors.errors.count
        if let chain { checkDates(of: chain, certificate, "the certificate", &errors) }
        if let clients, let authorities {
            checkDates(of: authorities, clients, "the authority of clients in", &errors)
        }
        guard let chain, let secret, let authorities, errors.errors.count == before else { return nil }
        guard let first = chain.first, secret.fits(first) else {
            errors.add(Self.mismatch(of: key, certificate), at: key.place)
            return nil
        }
        do throws(TLSFailure) {
            return try TLSContext(
                serverWith: chain, secret, clients: authorities, requiresCertificate: requiresCertificate)
        } catch {
            errors.add(
                "the certificate \(certificate.value) can't be used: \(error); get another one.",
                at: certificate.place)
            return nil
        }
    }

    static func mismatch(of key: Located<String>, _ certificate: Located<String>) -> String {
        "the key \(key.value) does not belong to the certificate \(certificate.value); name the two that were "
            + "made together."
    }

    static func read<Value>(
        _ path: Located<String>, _ what: String, accept: (stat) -> String? = { _ in nil },
        _ errors: inout ConfigurationErrors, _ make: ([UInt8]) throws(TLSFailure) -> Value
    ) -> Value? {
        errors.collect { () throws(SourceError) in
            let bytes = try FileBytes.read(path, what: what, accept: accept)
            do throws(TLSFailure) {
                return try make(bytes)
            } catch {
                throw SourceError(
                    "\(what) \(path.value) can't be used: \(error); name a PEM file.", at: path.place)
            }
        }
    }

    /// Groups such as `ssl-cert` share keys between services.
    static func refusalOfKey(_ status: stat) -> String? {
        status.st_mode & 0o007 == 0 ? nil : "may be read by everybody; run chmod o= on it."
    }

    private func checkDates(
        of certificates: [TLSCertificate], _ path: Located<String>, _ what: String,
        _ errors: inout ConfigurationErrors
    ) {
        for certificate in certificates {
            if let end = certificate.expired {
                errors.add("\(what) \(path.value) has expired (\(end)); renew it.", at: path.place)
            }
            if let start = certificate.begins {
                errors.add(
                    "\(what) \(path.value) is not valid before \(start); check the clock, or get another one.",
                    at: path.place)
            }
        }
    }
}
