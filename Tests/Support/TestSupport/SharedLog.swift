import BusCluster

/// What the servers of a shared log hold: entries, members with their leases. The members' ends are `SimulatedLog`s.
///
/// With faults it does what a log may do, and what one does whose backup was restored; a proposal may also come in twice,
/// or behind its member's end, which the replicas have to see through.
package final class SharedLog {
    struct Presence {
        let incarnation: Int
        var report: [UInt8]
        var deadline: Int
    }

    /// All that is in it, what was trimmed away included.
    package private(set) var entries: [OrderedEntry] = []
    package private(set) var cluster = "c0"
    package private(set) var trimmedThrough = 0
    /// When the lease of a member last ended though nobody had asked for that, in milliseconds.
    package private(set) var lapses: [String: Int] = [:]
    /// How often it has gone back.
    package private(set) var rollbacks = 0
    private(set) var present: [String: Presence] = [:]
    private var places: [ProposalName: Int] = [:]
    private var coming: [(due: Int, name: ProposalName, content: [UInt8], isFenced: Bool)] = []
    private var generator: SeededGenerator
    package var isFaulty = true
    /// Answers come with the next step, not some milliseconds later.
    package var isImmediate = false
    package private(set) var now: Int
    /// How long a silent member stays, in milliseconds.
    package let lease = 2000

    package init(seed: UInt64, now: Int) {
        generator = SeededGenerator(seed: seed)
        self.now = now
    }

    /// One that does what is asked, at once.
    convenience init(now: Int) {
        self.init(seed: 1, now: now)
        (isFaulty, isImmediate) = (false, true)
    }

    /// Another with the same in it.
    func copy() -> SharedLog {
        let copy = SharedLog(now: now)
        (copy.entries, copy.present, copy.places) = (entries, present, places)
        return copy
    }

    package var lastPlace: Int { entries.last?.place ?? 0 }

    /// The index of the first entry behind a place; they are in order of their places.
    package func firstEntry(after place: Int) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].place > place { high = middle } else { low = middle + 1 }
        }
        return low
    }

    @discardableResult
    private func append(_ content: OrderedEntry.Content) -> Int {
        let place = lastPlace + Int.random(in: 1...3, using: &generator)
        entries.append(OrderedEntry(place: place, content))
        return place
    }

    // MARK: - Calls

    func join(_ member: String, _ report: [UInt8]) -> OrderedLogEvent {
        if let other = present[member] {
            return .nameTaken(
                by: OrderedLogMember(name: member, incarnation: other.incarnation, report: other.report),
                lease: lease)
        }
        let place = append(.joined(member: member, report: report))
        present[member] = Presence(incarnation: place, report: report, deadline: now + lease)
        return .joined(incarnation: place)
    }

    /// Those present, with what they report.
    package var members: [OrderedLogMember] {
        present.sorted { $0.key < $1.key }.map {
            OrderedLogMember(name: $0.key, incarnation: $0.value.incarnation, report: $0.value.report)
        }
    }

    package func isPresent(_ member: String, _ incarnation: Int) -> Bool {
        present[member]?.incarnation == incarnation
    }

    func renew(_ member: String) { present[member]?.deadline = now + lease }

    func report(_ member: String, _ report: [UInt8]) {
        guard let incarnation = present[member]?.incarnation else { return }
        present[member]?.report = report
        append(.reported(member: member, incarnation: incarnation, report: report))
    }

    package func end(_ member: String, incarnation: Int) {
        guard isPresent(member, incarnation) else { return }
        present[member] = nil
        append(.ended(members: [member]))
    }

    /// The content of a proposal in the log; nil if none has this name.
    package func content(of name: ProposalName) -> [UInt8]? {
        guard let place = places[name],
            case .proposal(_, let content) = entries[firstEntry(after: place - 1)].content
        else { return nil }
        return content
    }

    /// Puts a proposal in now, or `later`.
    func put(_ name: ProposalName, _ content: [UInt8]) -> ProposalOutcome {
        if let place = places[name] { return .alreadyThere(place: place) }
        guard isPresent(name.member, name.incarnation) else { return .refused }
        let place = append(.proposal(name, content))
        places[name] = place
        return .acknowledged(place: place)
    }

    /// - Parameter isFenced: As the log promises; otherwise it comes in whatever was and is.
    func put(_ name: ProposalName, _ content: [UInt8], at due: Int, isFenced: Bool) {
        coming.append((due, name, content, isFenced))
    }

    /// Puts in what no member of this version would.
    package func inject(_ name: ProposalName, _ content: [UInt8]) { append(.proposal(name, content)) }

    package func trim(through place: Int) { trimmedThrough = max(trimmedThrough, min(place, lastPlace)) }

    // MARK: - Time and faults

    package func advance(to now: Int) {
        self.now = now
        let due = coming.filter { $0.due <= now }
        coming.removeAll { $0.due <= now }
        for late in due {
            if late.isFenced { _ = put(late.name, late.content) } else { inject(late.name, late.content) }
        }
        let over = present.filter { $0.value.deadline < now }.keys.sorted()
        guard !over.isEmpty else { return }
        for member in over { (present[member], lapses[member]) = (nil, now) }
        append(.ended(members: over))
    }

    /// The lease of a member ends though it runs.
    package func endSomeLease() {
        guard let member = present.keys.sorted().randomElement(using: &generator) else { return }
        lapses[member] = now
        end(member, incarnation: present[member]!.incarnation)
    }

    /// The last entries are gone, as from a backup that was restored; under another name or under the same.
    ///
    /// - Parameter isTrimmedAnew: Nothing is left of what the backup had, as etcd does where it is told to; otherwise all of
    ///   it is there, as if nothing had been trimmed then; nil: what was trimmed stays so.
    package func goBack(by count: Int, isTrimmedAnew: Bool? = nil) {
        let kept = entries.dropLast(count).filter { _ in true }
        guard let last = kept.last?.place, last > trimmedThrough || isTrimmedAnew != nil else { return }
        if let isTrimmedAnew { trimmedThrough = isTrimmedAnew ? last : min(trimmedThrough, last / 2) }
        entries = Array(kept)
        rollbacks += 1
        coming = []
        if generator.oneIn(2) { cluster = "c\(rollbacks)" }
        places = [:]
        var there: [String: Presence] = [:]
        for entry in entries {
            switch entry.content {
            case .proposal(let name, _): places[name] = places[name] ?? entry.place
            case .joined(let member, let report):
                there[member] = Presence(
                    incarnation: entry.place, report: report, deadline: now + lease)
            case .reported(let member, _, let report): there[member]?.report = report
            case .ended(let members): for member in members { there[member] = nil }
            }
        }
        present = there
    }
}
