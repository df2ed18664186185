#if canImport(Glibc)
    internal import BusSystem

    /// Sockets, moved by one thread for each bus.
    final class SocketTransport: Transport {
        let wakeUp: WakeUp

        init() throws(BusError) { wakeUp = try Self.makeWakeUp() }

        func run(named name: String, _ makeDriver: @escaping @Sendable () -> BusDriver) throws(BusError) {
            try Self.detach(named: name) { SocketThread(self, makeDriver()).run() }
        }

        func wake() { wakeUp.signal() }

        static func makeWakeUp() throws(BusError) -> WakeUp {
            let wakeUp = WakeUp()
            guard wakeUp.descriptor >= 0 else {
                throw BusError(.limit, "No descriptor is left for a connection: \(systemReason()).")
            }
            return wakeUp
        }

        static func detach(named name: String, _ body: @escaping @Sendable () -> Void) throws(BusError) {
            do throws(SystemError) {
                try SystemThread.start(named: name, body)
            } catch {
                throw BusError(
                    .limit,
                    "No thread can be started for a bus (\(error.reason)); use fewer threads, or allow more.")
            }
        }
    }
#endif
