import BusSource
import CLinux
import Glibc
import Systemd

/// Sockets opened for us by a socket unit, under the name that the configuration gives.
enum PassedListening {
    static func open(
        _ name: String, at place: Place, from service: inout Service
    ) throws(StartFailure) -> [Listener] {
        func failure(_ code: StartFailure.Code, _ message: String) -> StartFailure {
            StartFailure(code, SourceError("systemd \(name): \(message)", at: place).description)
        }
        let descriptors: [Int32]
        do throws(SystemdError) {
            descriptors = try service.listeners(named: name)
        } catch {
            throw failure(.system, error.message)
        }
        guard !descriptors.isEmpty else {
            throw failure(
                .configuration,
                "no socket of this name was passed; say FileDescriptorName=\(name) in the socket unit, and start it."
            )
        }
        var listeners: [Listener] = []
        for descriptor in descriptors {
            _ = linux_set_nonblocking(descriptor, 1)
            guard let address = SocketAddressText.bound(descriptor) else {
                throw failure(.configuration, "a passed socket is neither Unix nor TCP; pass one of these.")
            }
            if address.hasPrefix("tcp:"), !isLoopback(address) {
                throw failure(
                    .configuration,
                    "\(address) is beyond this machine, where TCP needs encryption and access rules, which this "
                        + "version does not have; say ListenStream=127.0.0.1:7411 in the socket unit.")
            }
            listeners.append(Listener(descriptor, address: address, isPassed: true))
        }
        return listeners
    }

    private static func isLoopback(_ address: String) -> Bool {
        address.hasPrefix("tcp:127.") || address.hasPrefix("tcp:[::1]:")
    }
}
