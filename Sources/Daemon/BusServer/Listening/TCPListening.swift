import BusSource
import BusSystem
import Glibc

/// Opens TCP sockets. The configuration decides which addresses are allowed.
enum TCPListening {
    /// - Parameter scheme: `tcp`, or `tls` for connections that begin with a handshake.
    static func open(
        _ scheme: String, _ address: InternetAddress, at place: Place
    ) throws(StartFailure) -> Listener {
        func failure(_ code: StartFailure.Code, _ message: String) -> StartFailure {
            StartFailure(code, SourceError("\(scheme) \(address.text): \(message)", at: place).description)
        }
        do throws(SystemError) {
            let descriptor = try address.listen()
            let bound = InternetAddress(boundBy: descriptor) ?? address
            return Listener(descriptor, address: "\(scheme):\(bound.text)")
        } catch {
            switch error.code {
            case EADDRINUSE:
                throw failure(
                    .inUse, "the port is in use; stop the program that listens there, or choose another.")
            case EADDRNOTAVAIL:
                throw failure(
                    .configuration, "this machine does not have the address; listen on one that it has.")
            default: throw failure(.system, "\(error.reason).")
            }
        }
    }
}
