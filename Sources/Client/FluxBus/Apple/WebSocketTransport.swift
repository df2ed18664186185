#if canImport(Darwin)
    import BusJSON
    internal import BusTime
    import Foundation

    /// A bus behind `fluxbus-web`, over WebSocket: `tcp:HOST:PORT` stands for `ws://HOST:PORT/bus`, and `tls:HOST:PORT` for
    /// `wss://HOST:PORT/bus`. Each message is a line. The system decides which certificates are trusted.
    ///
    /// Untested: this file has never been compiled or run on one of Apple's systems.
    ///
    /// `@unchecked Sendable`: all mutable state is accessed on `queue` only.
    final class WebSocketTransport: Transport, @unchecked Sendable {
        private let queue = DispatchQueue(label: "fluxbus")
        private let session = URLSession(configuration: .ephemeral)
        private var driver: BusDriver?
        private var socket: URLSessionWebSocketTask?
        /// Whether the other end has answered.
        private var isOpen = false
        private let outgoing = ByteWriter(capacity: 4096)
        /// How many bytes were given to the socket, and how many of them it still holds.
        private var sent = 0
        private var unsent = 0
        /// Counts turns: a timer that an earlier one has set means nothing any more.
        private var turns = 0

        /// As for sockets: no bus sends a longer line.
        private static let longestLine = 256 << 20

        func run(named name: String, _ makeDriver: @escaping @Sendable () -> BusDriver) throws(BusError) {
            queue.async {
                self.driver = makeDriver()
                self.turn()
            }
        }

        func wake() { queue.async { self.turn() } }

        private func turn() {
            guard let driver else { return }
            driver.turn(unsent: unsent)
            if driver.hasEnded {
                close()
                session.invalidateAndCancel()
                self.driver = nil
                return driver.end()
            }
            if socket == nil, let addresses = driver.beginConnecting() {
                connect(to: addresses[...], driver.options)
            }
            if isOpen { send(driver) }
            turns += 1
            let moment = driver.nextTurn()
            guard moment < .max else { return }
            let number = turns
            let wait = max(0, moment - MonotonicClock.nanoseconds)
            queue.asyncAfter(deadline: .now() + .nanoseconds(wait)) {
                if self.turns == number { self.turn() }
            }
        }

        // MARK: - The connection

        private static func url(of address: BusAddress, _ options: BusOptions) throws(BusError) -> URL {
            guard options.tls == TLSOptions() else {
                throw BusError(
                    .invalidOptions,
                    "Certificates of one's own can't be used on this system; leave them out of the options.")
            }
            guard address.isRemote, let host = address.description.split(separator: ":", maxSplits: 1).last,
                let url = URL(string: "\(address.description.hasPrefix("tls") ? "wss" : "ws")://\(host)/bus")
            else {
                throw BusError(
                    .invalidAddress,
                    "\(address) can't be reached from this system; give the address of a fluxbus-web, as in tls:HOST:PORT."
                )
            }
            return url
        }

        private func connect(to addresses: ArraySlice<BusAddress>, _ options: BusOptions) {
            let address = addresses[addresses.startIndex]
            let url: URL
            do throws(BusError) {
                url = try Self.url(of: address, options)
            } catch {
                driver?.connectFailed(error)
                return
            }
            let socket = session.webSocketTask(with: url)
            socket.maximumMessageSize = Self.longestLine
            self.socket = socket
            (sent, unsent) = (0, 0)
            outgoing.clear()
            socket.resume()
            // Its answer shows that the connection is open.
            socket.sendPing { error in
                self.queue.async {
                    guard self.socket === socket, !self.isOpen, let driver = self.driver else { return }
                    if let error {
                        self.close()
                        if addresses.count > 1 {
                            self.connect(to: addresses.dropFirst(), options)
                        } else {
                            driver.connectFailed(
                                BusError(
                                    .unreachable,
                                    "No bus answers at \(address) (\(error.localizedDescription))."))
                        }
                    } else {
                        self.isOpen = true
                        driver.connected(to: address)
                        self.receive(from: socket)
                    }
                    self.turn()
                }
            }
            let share = options.connectTimeout.nanoseconds / addresses.count
            queue.asyncAfter(deadline: .now() + .nanoseconds(share)) {
                if self.socket === socket, !self.isOpen { socket.cancel() }
            }
        }

        private func close() {
            socket?.cancel(with: .normalClosure, reason: nil)
            socket = nil
            isOpen = false
        }

        private func lost(_ error: BusError) {
            close()
            driver?.lost(error, sent: sent)
        }

        private func ended(_ error: any Error) {
            lost(BusError(.closed, "The bus ended the connection (\(error.localizedDescription))."))
            turn()
        }

        private func send(_ driver: BusDriver) {
            driver.write(to: outgoing)
            if let reason = driver.disconnectReason { return lost(reason) }
            for line in outgoing.bytes.split(separator: UInt8(ascii: "\n")) {
                let count = line.count + 1
                sent += count
                unsent += count
                socket?.send(.string(String(decoding: line, as: UTF8.self))) { [socket] error in
                    self.queue.async {
                        guard self.socket === socket, self.isOpen else { return }
                        self.unsent -= count
                        if let error { self.ended(error) }
                    }
                }
            }
            outgoing.clear()
        }

        private func receive(from socket: URLSessionWebSocketTask) {
            socket.receive { result in
                self.queue.async {
                    guard self.socket === socket, let driver = self.driver else { return }
                    let now = MonotonicClock.nanoseconds
                    switch result {
                    case .success(.string(var line)):
                        line.withUTF8 { driver.receive(UnsafeRawBufferPointer($0), at: now) }
                    case .success(.data(let line)): line.withUnsafeBytes { driver.receive($0, at: now) }
                    case .success: break
                    case .failure(let error): return self.ended(error)
                    }
                    if let reason = driver.disconnectReason {
                        self.lost(reason)
                    } else {
                        self.receive(from: socket)
                    }
                    self.turn()
                }
            }
        }
    }
#endif
