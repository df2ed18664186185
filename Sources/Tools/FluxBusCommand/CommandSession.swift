import BusJSON
import FluxBus

/// One run of a command: its options resolved against the environment, its console, its connection to the bus.
package struct CommandSession {
    package let options: GlobalOptions
    package let context: CommandContext
    package let console: Console
    /// The names of the users of the machine where the bus is; empty when that is another one.
    package let users: UserNames

    package init(options: GlobalOptions, context: CommandContext) {
        self.options = options
        self.context = context
        console = Console(context: context, options: options)
        let addresses = try? BusAddress.list(options.address, environment: context.environment)
        let isHere = addresses?.contains(where: \.isRemote) == false
        users = isHere ? UserNames(lookUp: context.userName) : .none
    }

    /// Where the bus may be, in the order in which that is tried.
    package func addresses() throws(BusError) -> [BusAddress] {
        try BusAddress.list(options.address, environment: context.environment)
    }

    /// When the reply to a request sent now must have come.
    package var replyDeadline: Deadline { Deadline(after: options.timeout.duration) }

    package func connect(until deadline: Deadline? = nil) throws -> BusConnection {
        let addresses = try addresses()
        var token: String?
        let tls = TLSOptions(ca: options.ca, certificate: options.certificate, key: options.key)
            .filled(from: context.environment)
        if addresses.contains(where: \.isRemote) {
            token = try TokenSource(file: options.tokenFile, environment: context.environment).token()
            guard token != nil || addresses.allSatisfy({ !$0.isRemote || $0.takesCertificate(of: tls) })
            else {
                throw CommandFailure(
                    .forbidden,
                    "A bus on TCP asks for a token: give it with --token-file or $FLUXBUS_TOKEN; on TLS a certificate may do, "
                        + "with --certificate and --certificate-key.")
            }
        }
        return try BusConnection(
            to: addresses, token: token, client: "fluxbus", tls: tls, until: deadline ?? replyDeadline)
    }

    /// Connects, sends one request, and returns the reply without the members that only matter on the wire.
    package func ask(_ request: BusRequest) throws -> JSONObject {
        try ask(request, on: connect())
    }

    package func ask(_ request: BusRequest, on connection: BusConnection) throws -> JSONObject {
        var reply = try connection.request(request, until: replyDeadline)
        reply["id"] = nil
        return reply
    }
}
