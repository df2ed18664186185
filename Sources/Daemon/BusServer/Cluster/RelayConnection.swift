import BusCluster
import BusJSON
import EtcdLog
import FluxBus

/// The connection to a member through which this one reads the shared log.
final class RelayConnection: RelaySource {
    private let address: String
    private let connection: BusConnection
    private let tokens: MemberTokens

    /// For an answer: twice as long as a member lets one wait.
    private static let patience = LogFollowers.patience * 2

    init(to address: String, _ settings: ClusterSettings, _ tokens: MemberTokens) throws(OrderedLogFailure) {
        (self.address, self.tokens) = (address, tokens)
        guard tokens.wait() else {
            throw OrderedLogFailure(
                .unreachable, "etcd does not tell which members there are, so \(address) is not asked.")
        }
        do throws(BusError) {
            connection = try settings.connect(to: address, within: Self.patience)
        } catch {
            throw Self.failure(address, error)
        }
    }

    func part(behind place: Int) throws(OrderedLogFailure) -> RelayedPart {
        do throws(BusError) {
            let reply = try connection.request(
                BusRequest("cluster", ["since": .int(place), "token": tokens[address].map(JSON.string)]),
                until: Deadline(after: Self.patience))
            if let part = RelayedPart(reply) { return part }
        } catch {
            throw Self.failure(address, error)
        }
        throw OrderedLogFailure(
            .unexpected, "\(address) answers with what is no part of the shared log; see what runs there.")
    }

    private static func failure(_ address: String, _ error: BusError) -> OrderedLogFailure {
        OrderedLogFailure(.unreachable, "\(address) does not pass the shared log on: \(error.message)")
    }
}
