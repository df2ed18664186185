#if canImport(Glibc)
    internal import BusSystem

    /// The thread of one bus: it owns the connection, moves bytes between it and the driver, and waits.
    ///
    /// One turn: take what was submitted, write it with one call, wait, read what came, settle it.
    final class SocketThread {
        private let transport: SocketTransport
        private let driver: BusDriver
        private var connection: BusConnection?
        /// In nanoseconds.
        private let readInterval: Int
        /// Until this moment of the monotonic clock, events wait for others.
        private var nextRead = 0

        init(_ transport: SocketTransport, _ driver: BusDriver) {
            self.transport = transport
            self.driver = driver
            readInterval = driver.options.readInterval.nanoseconds
        }

        func run() {
            while true {
                driver.turn(unsent: connection?.unsentBytes ?? 0)
                if driver.hasEnded { break }
                connectIfWanted()
                if let connection {
                    move(connection)
                } else {
                    sleep()
                }
            }
            connection = nil
            driver.end()
        }

        private func connectIfWanted() {
            guard connection == nil, let addresses = driver.beginConnecting() else { return }
            do throws(BusError) {
                let wait = ConnectWait(
                    until: Deadline(after: driver.options.connectTimeout),
                    wakeUp: transport.wakeUp.descriptor,
                    turn: turnWhileConnecting)
                let opened = try BusConnection(opening: addresses, driver.options.tls, wait)
                connection = opened
                driver.connected(to: opened.address)
            } catch {
                driver.connectFailed(error)
            }
        }

        /// Submitted work and time-outs don't wait for a connection. Returns the longest wait; nil when the
        /// connection is not wanted any more.
        private func turnWhileConnecting() -> Deadline? {
            transport.wakeUp.clear()
            driver.turn(unsent: 0)
            return driver.hasEnded ? nil : deadline()
        }

        private func move(_ connection: BusConnection) {
            driver.write(to: connection.outgoing)
            do throws(BusError) {
                if let reason = driver.disconnectReason { throw reason }
                if readInterval > 0, connection.unsentBytes == 0, driver.isIdle { gather() }
                let wakeup = try connection.wait(input: transport.wakeUp.descriptor, until: deadline())
                if wakeup.input { transport.wakeUp.clear() }
                let now = MonotonicClock.nanoseconds
                if wakeup.incoming {
                    nextRead = now + readInterval
                    driver.heard(at: now)
                }
                while connection.takeLineIfReady({ driver.receive($0, at: now) }) {
                    if driver.disconnectReason != nil { break }
                }
                if let reason = driver.disconnectReason { throw reason }
            } catch {
                self.connection = nil
                driver.lost(error, sent: connection.totalSent)
            }
        }

        /// Waits for events to gather, until `nextRead`, a submission, or what is due.
        private func gather() {
            let pause = nextRead - MonotonicClock.nanoseconds
            guard pause > 0 else { return }
            let end = deadline().earlier(Deadline(after: .nanoseconds(pause)))
            transport.wakeUp.wait(milliseconds: end.pollTimeout)
        }

        /// How long to wait: not at all if something was submitted meanwhile.
        private func deadline() -> Deadline {
            let moment = driver.nextTurn()
            if moment == 0 { return Deadline(after: .zero) }
            guard moment < .max else { return .never }
            return Deadline(after: .nanoseconds(max(0, moment - MonotonicClock.nanoseconds)))
        }

        private func sleep() {
            transport.wakeUp.wait(milliseconds: deadline().pollTimeout)
            transport.wakeUp.clear()
        }
    }
#endif
