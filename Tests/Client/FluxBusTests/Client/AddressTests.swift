import FluxBus
import Glibc
import Synchronization
import TestFiles
import TestServer
import Testing

/// A bus with several addresses, of which some do not answer.
@Suite(.timeLimit(.minutes(10))) struct AddressTests {
    /// A listener whose queue is full: who connects now waits for ever, as where a firewall swallows packets.
    private final class Swallower: Sendable {
        let address: BusAddress
        private let descriptors: [Int32]

        init(in directory: TemporaryDirectory) throws {
            let path = directory.path + "/full"
            address = .unix(path: path)
            let text = "unix:" + path
            var descriptors = [try Sockets.listen(at: text, backlog: 0)]
            while let client = try? Sockets.connect(to: text, isBlocking: false) {
                descriptors.append(client)
            }
            self.descriptors = descriptors
        }

        deinit { for descriptor in descriptors { close(descriptor) } }
    }

    private static let absent = BusAddress.unix(path: "/nonexistent/bus.sock")

    /// Who only listens hears of it when the other end has vanished without a word.
    @Test func vanishedBusesAreFoundOut() throws {
        let listener = try LineListener(overTCP: true)
        let connection = try BusConnection(
            opening: BusAddress(parsing: listener.address), tls: TLSOptions(), until: .never)
        var (value, length) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
        getsockopt(connection.descriptor, SOL_SOCKET, SO_KEEPALIVE, &value, &length)
        #expect(value == 1)
    }

    @Test func addressThatSwallowsEverythingCostsItsShare() throws {
        let live = try LiveBus()
        let directory = TemporaryDirectory()
        let swallower = try Swallower(in: directory)
        let connection = try BusConnection(
            to: [swallower.address, live.busAddress], until: Deadline(after: .seconds(6)))
        #expect(connection.address == live.busAddress)
        #expect(try connection.request(BusRequest("ping"))["ok"] == true)
        let error = #expect(throws: BusError.self) {
            try BusConnection(to: [swallower.address], until: Deadline(after: .milliseconds(20)))
        }
        #expect(error?.code == .unreachable)
    }

    /// Whoever accepts connections and says nothing is no bus either.
    @Test func addressThatSaysNothingCostsItsShare() async throws {
        let live = try LiveBus()
        let silent = try HandmadeBus { listener in
            while let peer = listener.accept() { while peer.line() != nil {} }
        }
        let connection = try BusConnection(
            to: [Self.absent, silent.address, live.busAddress], until: Deadline(after: .seconds(6)))
        #expect(connection.address == live.busAddress)
        var options = BusOptions()
        options.connectTimeout = .seconds(6)
        let bus = try await Bus.connect([silent.address, Self.absent, live.busAddress], options: options)
        #expect(bus.address == live.busAddress)
        try await bus.ping()
        await bus.close()
    }

    @Test func busIsFoundWhereItIs() async throws {
        let live = try LiveBus()
        let bus = try await Bus.connect([Self.absent, live.busAddress])
        #expect(bus.address == live.busAddress)
        var notices = bus.notices.makeAsyncIterator()
        live.stop()
        try live.start()
        while let notice = await notices.next() { if case .reconnected = notice { break } }
        #expect(bus.address == live.busAddress)
        await bus.close()
        let error = await #expect(throws: BusError.self) {
            try await Bus.connect([Self.absent, Self.absent])
        }
        #expect(error?.code == .unreachable)
        await #expect(throws: BusError.self) { try await Bus.connect([BusAddress]()) }
    }

    @Test func addressesAreListed() throws {
        let one = BusAddress.unix(path: "/a"), other = BusAddress.tcp(host: "b", port: 7411)
        #expect(
            try BusAddress.list(environment: ["FLUXBUS_ADDRESS": " unix:/a, tcp:b:7411 "]) == [one, other])
        #expect(try BusAddress.list(environment: ["FLUXBUS_ADDRESS": "unix:/a tcp:b:7411"]) == [one, other])
        #expect(
            try BusAddress.list(["tcp:b:7411", "unix:/a"], environment: ["FLUXBUS_ADDRESS": "unix:/c"])
                == [other, one])
        #expect(try BusAddress.list(["tcp:b:7411,unix:/a", "unix:/c"], environment: [:]).first == other)
        #expect(try BusAddress.list(["tcp:b:7411,unix:/a", "unix:/c"], environment: [:]).count == 3)
        #expect(throws: BusError.self) { try BusAddress.list([""], environment: [:]) }
        #expect(
            try BusAddress.list(environment: ["FLUXBUS_ADDRESS": ""])
                == [.unix(path: "/run/fluxbus/bus.sock")])
        #expect(try BusAddress.resolve(environment: ["FLUXBUS_ADDRESS": "unix:/a,unix:/b"]) == one)
        #expect(throws: BusError.self) {
            try BusAddress.list(environment: ["FLUXBUS_ADDRESS": "unix:/a,nowhere"])
        }
    }
}
