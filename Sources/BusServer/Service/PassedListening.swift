import BusYAML
import CLinux
import Glibc
import Systemd

/// Sockets that were opened for us: by a socket unit, under the name that the configuration gives.
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
            guard let address = boundAddress(of: descriptor) else {
                throw failure(.configuration, "a passed socket is neither Unix nor TCP; pass one of these.")
            }
            if address.hasPrefix("tcp:"), !isLoopback(address) {
                throw failure(
                    .configuration,
                    "\(address) is beyond this machine, where TCP needs encryption and access rules, which this "
                        + "version does not have; say ListenStream=127.0.0.1:7411 in the socket unit.")
            }
            listeners.append(Listener(descriptor, address: address))
        }
        return listeners
    }

    private static func boundAddress(of descriptor: Int32) -> String? {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard result == 0 else { return nil }
        guard Int32(address.ss_family) == AF_UNIX else {
            return TCPListening.text(of: address).map { "tcp:\($0)" }
        }
        return withUnsafeBytes(of: &address) { bytes in
            let path = bytes[MemoryLayout<sa_family_t>.size..<min(Int(length), bytes.count)].prefix {
                $0 != 0
            }
            return "unix:\(String(decoding: path, as: UTF8.self))"
        }
    }

    private static func isLoopback(_ address: String) -> Bool {
        address.hasPrefix("tcp:127.") || address.hasPrefix("tcp:[::1]:")
    }
}
