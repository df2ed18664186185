/// The members a request may have.
public enum Member: UInt8, CaseIterable, Sendable {
    case op, id, type, store, action, payload
    case ack, actions, after, at, cause, client, dryRun, ephemeral, epoch, format, fresh, ifMissing,
        ifRevision,
        `in`, initial
    case key, leave, limit, linger, match, offset, `protocol`, reason, revision, select, session, since,
        state, sub, time, timer, token
    case ttl, until, version

    package var name: String { Self.names[Int(rawValue)] }

    private static let names = allCases.map { "\($0)" }

    @inlinable @inline(__always)
    var bit: UInt64 { 1 &<< UInt64(truncatingIfNeeded: rawValue) }
}

/// A set of members.
public struct MemberSet: Sendable {
    @usableFromInline private(set) var bits: UInt64 = 0

    package init(_ members: Member...) { for member in members { bits |= member.bit } }
    @inlinable @inline(__always)
    init(bits: UInt64) { self.bits = bits }

    @inlinable @inline(__always)
    public func contains(_ member: Member) -> Bool { bits & member.bit != 0 }
    /// Whether any of these is here.
    @inline(__always)
    package func containsAny(of others: MemberSet) -> Bool { bits & others.bits != 0 }

    @inline(__always)
    package mutating func insert(_ member: Member) { bits |= member.bit }

    @inlinable @inline(__always)
    func hasMembers(outside allowed: MemberSet) -> Bool { bits & ~allowed.bits != 0 }

    /// The first member that is here and not in `allowed`.
    package func first(outside allowed: MemberSet) -> Member? {
        let outside = bits & ~allowed.bits
        return outside == 0 ? nil : Member(rawValue: UInt8(outside.trailingZeroBitCount))
    }
}

/// The operation of a request.
package enum Operation: String, CaseIterable, Sendable {
    case dispatch, ping, get, hello, create, drop, stores, types, subscribe, unsubscribe, sync, history,
        revert
    case will, stats, reload, timers, cancel, cluster, clients, kick

    /// Whether it changes nothing that outlives its connection: once no client reads the answer, it can be skipped.
    package var isRead: Bool {
        switch self {
        case .get, .stores, .types, .history, .subscribe, .unsubscribe, .sync, .stats, .ping, .timers,
            .clients:
            true
        // Of these one may ask the daemon to leave.
        case .cluster: false
        case .dispatch, .hello, .create, .drop, .revert, .will, .reload, .cancel, .kick: false
        }
    }

    /// The members it may have, besides `op` and `id`.
    package var members: MemberSet {
        switch self {
        case .hello: MemberSet(.op, .id, .protocol, .client, .token, .session, .linger)
        case .dispatch:
            MemberSet(
                .op, .id, .type, .store, .action, .payload, .actions, .ifRevision, .key, .after, .epoch,
                .dryRun, .ack, .in, .at, .timer)
        case .create:
            MemberSet(
                .op, .id, .store, .state, .version, .ephemeral, .ifMissing, .ttl, .key, .after, .epoch)
        case .drop: MemberSet(.op, .id, .store, .key, .after, .epoch)
        case .get:
            MemberSet(.op, .id, .store, .type, .match, .select, .revision, .time, .limit, .after, .fresh)
        case .stores: MemberSet(.op, .id, .match, .limit, .after)
        case .types: MemberSet(.op, .id, .type, .revision, .time)
        case .subscribe:
            MemberSet(
                .op, .id, .store, .type, .match, .select, .format, .initial, .since, .epoch, .cause, .actions)
        case .unsubscribe: MemberSet(.op, .id, .sub)
        case .history: MemberSet(.op, .id, .since, .time, .until, .limit, .type, .store)
        case .revert: MemberSet(.op, .id, .store, .revision, .ifRevision)
        case .will: MemberSet(.op, .id, .actions)
        case .timers: MemberSet(.op, .id, .match, .limit, .after)
        case .cancel: MemberSet(.op, .id, .store, .type, .timer, .key, .after, .epoch)
        case .reload: MemberSet(.op, .id, .dryRun)
        case .cluster: MemberSet(.op, .id, .leave, .offset)
        case .clients: MemberSet(.op, .id, .limit, .after)
        case .kick: MemberSet(.op, .id, .client, .reason)
        case .sync, .stats, .ping: MemberSet(.op, .id)
        }
    }
}
