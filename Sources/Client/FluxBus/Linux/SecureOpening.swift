#if canImport(Glibc)
    internal import BusSystem
    internal import BusTLS

    /// TLS on this side of a connection: its files, and what its failures mean to a person.
    struct SecureOpening {
        let address: BusAddress
        let options: TLSOptions

        /// A session that has not begun. Throws `invalid_options` where a file is missing or wrong.
        func session(for host: String) throws(BusError) -> TLSSession {
            do throws(TLSFailure) {
                return TLSSession(try context(), as: .client(host: host))
            } catch {
                throw BusError(.invalidOptions, "The certificate can't be used: \(error); give another one.")
            }
        }

        private func context() throws(TLSFailure) -> TLSContext {
            let authorities = try options.ca.map { path throws(TLSFailure) in
                try Self.read(path) { (bytes) throws(TLSFailure) in try TLSCertificate.all(inPEM: bytes) }
            }
            guard let certificate = options.certificate, let key = options.key else {
                if let lonely = options.certificate ?? options.key {
                    throw TLSFailure(
                        .unusable, "\(lonely) is given alone, and a certificate goes with its key")
                }
                return try TLSContext(clientTrusting: authorities)
            }
            let chain = try Self.read(certificate) { (bytes) throws(TLSFailure) in
                try TLSCertificate.all(inPEM: bytes)
            }
            let secret = try Self.read(key) { (bytes) throws(TLSFailure) in try TLSKey(inPEM: bytes) }
            guard let first = chain.first, secret.fits(first) else {
                throw TLSFailure(.unusable, "the key \(key) does not belong to \(certificate)")
            }
            return try TLSContext(clientTrusting: authorities, chain: chain, secret)
        }

        /// The largest file that is read: all authorities that the world trusts take a quarter of a million bytes.
        private static let longestFile = 4 << 20

        private static func read<Value>(
            _ path: String, _ make: ([UInt8]) throws(TLSFailure) -> Value
        ) throws(TLSFailure) -> Value {
            let bytes: [UInt8]
            do throws(WholeFile.Refusal) {
                bytes = try WholeFile.read(path, limit: longestFile, pipes: true)
            } catch {
                let trouble =
                    switch error {
                    case .failed(let error): "can't be read (\(error.reason))"
                    case .notRegular: "is not a file"
                    case .tooLarge: "is larger than \(longestFile >> 20) MiB"
                    case .refused(let reason): reason
                    }
                throw TLSFailure(.unusable, "\(path) \(trouble)")
            }
            do throws(TLSFailure) {
                return try make(bytes)
            } catch {
                throw TLSFailure(.unusable, "\(path): \(error)")
            }
        }

        /// What a failure means, as one sentence.
        func error(_ failure: TLSFailure) -> BusError {
            switch failure.kind {
            case .untrusted:
                BusError(
                    .untrusted,
                    "The certificate of the bus at \(address) is of no authority that is trusted here (\(failure)): name the right "
                        + "one with --ca or $FLUXBUS_CA.")
            case .expired:
                BusError(
                    .untrusted,
                    "The certificate of the bus at \(address) has expired: its operator has to renew it, unless this machine's "
                        + "clock is wrong.")
            case .notYetValid:
                BusError(
                    .untrusted,
                    "The certificate of the bus at \(address) is not valid yet: check this machine's clock.")
            case .wrongName:
                BusError(
                    .untrusted,
                    "The certificate of the bus at \(address) is for another host: connect by a name that stands in it."
                )
            case .refusedCertificate where options.certificate == nil:
                BusError(
                    .unauthorized,
                    "The bus at \(address) asks for a certificate: give one with --certificate and --certificate-key, or "
                        + "$FLUXBUS_CERTIFICATE and $FLUXBUS_KEY.")
            case .refusedCertificate, .noCertificate:
                BusError(
                    .unauthorized,
                    "The bus at \(address) refuses this certificate (\(failure)): show one of an authority that it trusts."
                )
            case .refused, .violation, .unusable:
                BusError(
                    .unreachable,
                    "TLS failed with \(address) (\(failure)): check that a bus listens there with tls:.")
            }
        }
    }
#endif
