import FluxBus
import Testing

@Suite("Addresses")
struct BusAddressTests {
    @Test(arguments: [
        "unix:/run/fluxbus/bus.sock", "tcp:127.0.0.1:7411", "tcp:localhost:1", "tcp:[::1]:7411",
    ])
    func addressesReadBackAsWritten(_ text: String) throws {
        #expect(try BusAddress(parsing: text).description == text)
    }

    @Test(arguments: [
        "", "/run/bus.sock", "unix:", "unix:bus.sock", "tcp:", "tcp:host", "tcp:host:", "tcp::7411",
        "tcp:host:0",
        "tcp:host:65536", "tcp:::1:7411", "http://x", "unix:/" + String(repeating: "x", count: 107),
    ])
    func otherTextsAreRefused(_ text: String) {
        #expect {
            try BusAddress(parsing: text)
        } throws: { error in
            (error as? BusError)?.code == .invalidAddress
        }
    }

    @Test func anExplicitAddressStandsBeforeTheEnvironment() throws {
        let environment = ["FLUXBUS_ADDRESS": "tcp:b:2"]
        #expect(try BusAddress.resolve("tcp:a:1", environment: environment).description == "tcp:a:1")
        #expect(try BusAddress.resolve(environment: environment).description == "tcp:b:2")
    }

    @Test func aSessionsSocketStandsBeforeTheSystemsIfItExists() throws {
        let system = BusAddress.unix(path: "/run/fluxbus/bus.sock")
        #expect(try BusAddress.resolve(environment: [:]) == system)
        #expect(try BusAddress.resolve(environment: ["XDG_RUNTIME_DIR": "/nowhere"]) == system)
        #expect(try BusAddress.resolve(environment: ["FLUXBUS_ADDRESS": ""]) == system)

        let session = try SessionDirectory()
        #expect(
            try BusAddress.resolve(environment: ["XDG_RUNTIME_DIR": session.path])
                == .unix(path: session.path + "/fluxbus/bus.sock"))
    }
}
