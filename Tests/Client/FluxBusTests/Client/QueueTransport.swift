import BusJSON
import BusTime
import Dispatch
import FluxBus

/// A transport without sockets or threads: a serial queue, and a bus whose lines a test writes.
///
/// `@unchecked Sendable`: whatever changes is used on `queue` only.
final class QueueTransport: Transport, @unchecked Sendable {
    enum Answer {
        case lines([String])
        /// The connection ends, and the request has not been read.
        case cut
    }

    private let queue = DispatchQueue(label: "transport")
    private let accepts: @Sendable (_ attempt: Int) -> Bool
    private let answer: @Sendable (_ attempt: Int, _ request: JSON) -> Answer
    private var driver: BusDriver?
    private var attempt = 0
    private var isConnected = false
    private let outgoing = ByteWriter(capacity: 64)
    private var sent = 0
    private var turns = 0

    init(
        accepts: @escaping @Sendable (_ attempt: Int) -> Bool = { _ in true },
        answer: @escaping @Sendable (_ attempt: Int, _ request: JSON) -> Answer
    ) {
        self.accepts = accepts
        self.answer = answer
    }

    func run(named name: String, _ makeDriver: @escaping @Sendable () -> BusDriver) {
        queue.async {
            self.driver = makeDriver()
            self.turn()
        }
    }

    func wake() { queue.async { self.turn() } }

    private func turn() {
        guard let driver else { return }
        driver.turn(unsent: 0)
        if driver.hasEnded {
            self.driver = nil
            return driver.end()
        }
        if !isConnected, let addresses = driver.beginConnecting() { connect(driver, addresses[0]) }
        let hasMoved = isConnected && move(driver)
        turns += 1
        let moment = hasMoved ? 0 : driver.nextTurn()
        guard moment < .max else { return }
        let number = turns
        let wait = max(0, moment - MonotonicClock.nanoseconds)
        queue.asyncAfter(deadline: .now() + .nanoseconds(wait)) { if self.turns == number { self.turn() } }
    }

    private func connect(_ driver: BusDriver, _ address: BusAddress) {
        attempt += 1
        guard accepts(attempt) else {
            return driver.connectFailed(BusError(.unreachable, "Nobody is there."))
        }
        isConnected = true
        sent = 0
        driver.connected(to: address)
    }

    /// True if lines were exchanged.
    private func move(_ driver: BusDriver) -> Bool {
        driver.write(to: outgoing)
        defer { outgoing.clear() }
        for line in outgoing.bytes.split(separator: UInt8(ascii: "\n")) {
            guard driver.disconnectReason == nil else { break }
            sent += line.count + 1
            guard let request = try? JSON(parsing: Array(line)),
                case .lines(let lines) = answer(attempt, request)
            else {
                isConnected = false
                driver.lost(BusError(.closed, "The bus ended the connection."), sent: sent)
                return true
            }
            for var line in lines {
                line.withUTF8 { driver.receive(UnsafeRawBufferPointer($0), at: MonotonicClock.nanoseconds) }
            }
        }
        if let reason = driver.disconnectReason {
            isConnected = false
            driver.lost(reason, sent: sent)
        }
        return outgoing.count > 0
    }
}

extension QueueTransport {
    static let address = BusAddress.tcp(host: "nowhere", port: 1)

    /// A client that it carries.
    func connect(_ change: (inout BusOptions) -> Void = { _ in }) async throws -> Bus {
        var options = BusOptions()
        (options.token, options.timeout) = ("secret", .seconds(240))
        // A sign of life, on a machine so busy that half a minute passes, would be one ping more.
        options.keepAlive = nil
        options.backOff = BackOff(first: .milliseconds(1), longest: .milliseconds(20))
        change(&options)
        return try await Bus.connect([Self.address], options: options) { self }
    }
}

extension QueueTransport.Answer {
    /// The reply to a request, with these members.
    static func reply(to request: JSON, _ members: String) -> Self {
        .lines([#"{"id":\#(request["id"]?.int ?? 0),"ok":true,\#(members)}"#])
    }

    /// The reply to a hello.
    static func greeting(_ hello: JSON, epoch: String = "e1") -> Self {
        reply(
            to: hello,
            #""protocol":1,"server":"test","version":"1","epoch":"\#(epoch)","revision":0,"identity":{},"limits":{"line":1048576}"#
        )
    }
}
