import BusMachine

/// How far each member has come, as its proposals show it.
struct MemberProgress {
    /// The place that a member had applied when it proposed last.
    private(set) var shown: [String: Int] = [:]
    /// Places and the revisions there, the latest ones, to tell how many commits lie between.
    private var revisions: [(place: Int, revision: Int)] = []
    private static let kept = 4096

    mutating func note(_ place: Int, revision: Int) {
        if revisions.count == 2 * Self.kept { revisions.removeFirst(Self.kept) }
        revisions.append((place, revision))
    }

    mutating func note(_ member: String, at place: Int) { shown[member] = place }
    mutating func forget(_ member: String) { shown[member] = nil }

    /// The revision at a place; nil where that is not known any more.
    func revision(at place: Int) -> Int? {
        guard let first = revisions.first, place >= first.place else { return nil }
        var (low, high) = (0, revisions.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if revisions[middle].place <= place { low = middle } else { high = middle }
        }
        return revisions[low].revision
    }
}

/// A member that is present, as another one knows it.
package struct MemberStatus: Equatable, Sendable {
    package let name: String
    package let incarnation: Int
    /// What it last reported; nil before that was read.
    package let report: MemberReport?
    /// The place that it had applied when it last proposed.
    package let place: Int?
    /// The highest revision that it has shown: there, as far as that is still known, or in its report. One that has no
    /// requests proposes seldom; where others commit, it reports every 1,024 places.
    package let revision: Int?
    /// What its clock showed then, in milliseconds since 1970.
    package let clock: Int?
    /// False once it was seen to differ from this one.
    package let agrees: Bool
}

extension ClusterMember {
    /// All members that are present, by name; of itself it knows everything.
    package var members: [MemberStatus] {
        replica.members.sorted { $0.key < $1.key }.map { name, member in
            let isSelf = name == self.name
            let place = isSelf ? replica.link.place : others.progress.shown[name]
            let shown = [place.flatMap { others.progress.revision(at: $0) }, others.reports[name]?.revision]
            return MemberStatus(
                name: name, incarnation: member.incarnation, report: isSelf ? report : others.reports[name],
                place: place,
                revision: isSelf ? replica.machine.revision : shown.compactMap { $0 }.max(),
                clock: isSelf ? time.clock : member.clock, agrees: !others.comparisons.differs(name))
        }
    }
}
