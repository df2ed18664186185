/// What guards a bus, made to work: handshakes of TLS, and access rules that compute.
extension Attack {
    static let guarded = [
        Attack(
            name: "handshakes", summary: "TLS handshakes that are begun and never ended",
            setUp: HostileSetUp(isSecure: true),
            scripts: each { _ in
                let hello = ClientHello.bytes
                return AttackScript(opening: { _ in hello }, leaving: .whenHeard, isSecure: true)
            }),
        Attack(
            name: "rules", summary: "dispatches under a rule that adds up a thousand numbers",
            setUp: HostileSetUp(stores: [.init(type: "counter")], access: access),
            scripts: flood(#"{"op":"dispatch","store":"counter/s0","action":"increment"}"#)),
    ]

    private static var access: String {
        let sum = "[" + (0..<1000).map(String.init).joined(separator: ", ") + "]"
        return """
            access:
              roles: { all: [everyone] }
              rules:
                - { role: all, may: all, match: "\(Innocent.type)/*" }
                - { role: all, may: [read, create, drop, manage] }
                - role: all
                  may: dispatch
                  match: counter/*
                  if: { ">": [{ reduce: [\(sum), { "+": [{ var: current }, { var: accumulator }] }, { var: state.count }] }, 0] }

            """
    }
}

/// The first message of a TLS 1.3 handshake, as a client writes it that will never send another. It is whole, so a server
/// makes its keys and signs them: that is what a handshake costs.
enum ClientHello {
    static var bytes: [UInt8] {
        let random = (0..<32).map { UInt8($0 &* 7 &+ 3) }
        var body: [UInt8] = [3, 3] + random + [0]
        // TLS_AES_128_GCM_SHA256, no compression.
        body += [0, 2, 0x13, 0x01, 1, 0]
        let extensions =
            // The version, X25519 with a key, ECDSA over P-256 or RSA.
            field(43, [2, 3, 4]) + field(10, sized([0, 0x1d]))
            + field(13, sized([4, 3, 8, 4])) + field(51, sized([0, 0x1d] + sized(random)))
        body += sized(extensions)
        let message: [UInt8] = [1, 0] + sized(body)
        return [0x16, 3, 1] + sized(message)
    }

    private static func field(_ number: UInt8, _ bytes: [UInt8]) -> [UInt8] { [0, number] + sized(bytes) }

    private static func sized(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8(bytes.count >> 8), UInt8(bytes.count & 255)] + bytes
    }
}
