/// The members a request may have.
public enum Member: UInt8, CaseIterable, Sendable {
    case op, id, type, store, action, payload
    case ack, actions, after, at, by, cause, client, dryRun, ephemeral, epoch, format, fresh, `if`, ifMissing,
        ifRevision,
        `in`, initial
    case key, leave, limit, linger, match, most, offset, order, path, `protocol`, reason, `return`, revision,
        select, session,
        since, state, sub, time, timer, token, traceparent
    case ttl, until, version, via, `where`

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
package enum Operation: Hashable, CaseIterable, Sendable {
    case command(Command)
    case local(Local)

    /// It changes the bus and means what `BusCommands` says, on a shared bus for all members.
    package enum Command: String, CaseIterable, Sendable {
        case dispatch, create, drop, cancel, will
    }

    /// The daemon that is asked does it: it reads, or is about a connection or this daemon. `revert` and `reload` need what
    /// is not in the request.
    package enum Local: String, CaseIterable, Sendable {
        case ping, get, hello, stores, types, subscribe, unsubscribe, sync, history, blame, samples, revert,
            stats
        case reload, timers, cluster, clients, kick, backup, compact, map
    }

    package static let allCases = Command.allCases.map(Self.command) + Local.allCases.map(Self.local)

    /// As `op` has it.
    package var rawValue: String {
        switch self {
        case .command(let command): command.rawValue
        case .local(let local): local.rawValue
        }
    }

    /// Whether it changes nothing that outlives its connection: once no client reads the answer, it can be skipped.
    package var isRead: Bool { Self.reads.contains(self) }

    // By `cluster` one may ask the daemon to leave.
    private static let reads: Set<Operation> = [
        .local(.get), .local(.stores), .local(.types), .local(.history), .local(.blame), .local(.samples),
        .local(.subscribe),
        .local(.unsubscribe), .local(.sync), .local(.stats), .local(.ping), .local(.timers), .local(.clients),
        .local(.backup), .local(.map),
    ]

    /// The members it may have.
    package var members: MemberSet {
        var members = Self.members[self] ?? MemberSet()
        members.insert(.op)
        members.insert(.id)
        return members
    }

    private static let members: [Operation: MemberSet] = [
        .command(.dispatch): MemberSet(
            .type, .store, .action, .payload, .actions, .where, .if, .ifRevision, .key, .after, .epoch,
            .dryRun,
            .return,
            .ack, .in, .at, .timer, .traceparent),
        .command(.create): MemberSet(
            .store, .state, .version, .ephemeral, .ifMissing, .ttl, .key, .after, .epoch),
        .command(.drop): MemberSet(.store, .type, .where, .if, .ifRevision, .key, .after, .epoch),
        .command(.cancel): MemberSet(.store, .type, .timer, .key, .after, .epoch),
        .command(.will): MemberSet(.actions),
        .local(.hello): MemberSet(.protocol, .client, .via, .token, .session, .linger),
        .local(.get): MemberSet(
            .store, .type, .match, .where, .select, .revision, .time, .limit, .after, .fresh),
        .local(.stores): MemberSet(.match, .where, .limit, .after),
        .local(.types): MemberSet(.type, .revision, .time),
        .local(.subscribe): MemberSet(
            .store, .type, .match, .where, .select, .format, .initial, .since, .epoch, .cause, .actions),
        .local(.unsubscribe): MemberSet(.sub),
        .local(.history): MemberSet(
            .since, .time, .until, .order, .limit, .type, .store, .by, .action, .where),
        .local(.blame): MemberSet(.store, .path, .revision, .time),
        .local(.samples): MemberSet(.store, .path, .since, .time, .until, .most, .cause),
        .local(.revert): MemberSet(.store, .revision, .if, .ifRevision),
        .local(.timers): MemberSet(.match, .limit, .after),
        .local(.reload): MemberSet(.dryRun),
        .local(.cluster): MemberSet(.leave, .offset, .since, .token),
        .local(.clients): MemberSet(.limit, .after),
        .local(.kick): MemberSet(.client, .reason),
        .local(.backup): MemberSet(.offset),
        .local(.compact): MemberSet(),
        .local(.map): MemberSet(.type),
    ]
}
