import BusCommands
import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// What the access rules say of a request. Names are judged before anything is looked up, so that a refusal says nothing
/// of what there is.
extension Engine {
    // MARK: One store

    func require(
        _ capability: Capability, ofStoreIn grants: Grants?, _ verb: String
    ) throws(RequestError) {
        try commands.require(capability, ofStoreIn: grants, verb)
    }

    static func forbidden(_ verb: String, _ target: String) -> RequestError {
        Commands.forbidden(verb, target)
    }

    static func parts(of address: String) -> (type: String, name: String)? { Commands.parts(of: address) }

    /// Throws as for a type that does not exist, if a pattern names one that the client has nothing to do with.
    func requireKnown(_ pattern: AddressPattern, _ grants: Grants?) throws(RequestError) {
        guard let grants, pattern.type.isLiteral else { return }
        let type = String(decoding: pattern.type.pattern, as: UTF8.self)
        guard grants.knows(type: type) else { throw Self.unknown(type) }
    }

    static func unknown(_ type: String) -> RequestError {
        RequestError(
            .unknownType,
            "There is no state type \(type.shortened(to: 80)) that you may use; types lists them.")
    }

    /// What one may know of a refusal: nothing of types that one has nothing to do with, and nothing of states that one
    /// may not read.
    func disclosed(_ error: RequestError, to grants: Grants, isPresent: Bool) -> RequestError {
        if let withoutState = error.withoutState {
            let whole = error.detail("store").flatMap(Self.parts(of:)).map {
                grants.showsWhole($0.name, ofType: $0.type)
            }
            return whole == true ? error : withoutState
        }
        guard error.code == .unknownType, !grants.mayManage else { return error }
        guard isPresent else { return Self.unknown("of this name") }
        let type =
            request.present.contains(.type)
            ? String(decoding: request.type, as: UTF8.self)
            : Self.parts(of: String(decoding: request.store, as: UTF8.self))?.type
        return type.map(Self.unknown) ?? Self.unknown("of this name")
    }

    // MARK: Denials

    /// Counts a refusal by the rules; some are reported, so that a client can't fill the operator's log.
    func noteDenial(_ error: RequestError, of connection: Connection, _ grants: Grants) {
        guard let unreported = access.noteDenial(of: grants) else { return }
        let roles = grants.roles.isEmpty ? "no role" : "role \(grants.roles.joined(separator: ", "))"
        let more =
            unreported == 0 ? "" : " \(unreported) more were refused since the last entry of this kind."
        outputs.report(
            Diagnostic(
                kind: .denied, level: .warning,
                message: "A client with \(roles) was refused: \(error.message)\(more)", peer: connection.peer,
                store: error.detail("store"), action: error.detail("action")))
    }

    // MARK: Rules change

    /// The rules have changed, or what they are about: every connection is judged anew.
    func reassess() {
        access.forgetPermits()
        for case let connection? in connections.all {
            guard let principal = connection.access.principal else { continue }
            access.identify(connection, as: principal)
            for place in connection.delivery.subscriptions.indices {
                let subscription = connection.delivery.subscriptions[place]
                let filter = granted(subscription.wanted, to: connection.access.grants)
                if filter == subscription.group.key { continue }
                hub.replace(subscription, at: place, by: filter)
            }
            connections.markReady(connection)
        }
    }

    /// What of a wanted subscription is delivered under the rules.
    func granted(_ wanted: SubscriptionFilter, to grants: Grants?) -> SubscriptionFilter {
        guard let grants else { return wanted }
        var filter = wanted
        if filter.cause, !grants.knowsEverything { filter.cause = false }
        // Actions that are not shown count in no batch, so even who is shown all of a pattern has a view of them.
        let isWhole =
            filter.actions ? grants.knowsEverything : grants.showsAll(of: filter.pattern)
        if !isWhole { filter.view = grants }
        return filter
    }
}

extension DaemonLimits {
    /// At most one denial is reported in so many milliseconds.
    static let denialInterval = 1000
}
