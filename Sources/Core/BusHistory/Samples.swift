import BusJSON
import BusMachine

/// The values of one member over time: each change, or, if these are too many, what a chart needs for each step of time.
final class Samples<Source: PastSource> {
    private let walk: ValueWalk<Source>
    private let path: JSONPointer
    private let most: Int
    /// `isAside`: it is only to tell whether the store ever existed.
    private let searches: [(search: CommitSearch, revisions: ClosedRange<Int>, isAside: Bool)]
    private var place = 0
    private var samples: [Sample] = []
    /// How many of them have their author.
    private var authored = 0
    /// The value before the next change; nil until it is known.
    private var last: JSON??
    /// When the first and the last step begin and end, in milliseconds.
    private var times: ClosedRange<Int> = 0...0
    private var isCoarse = false
    /// It is not known yet whether the store ever existed.
    private(set) var isSought: Bool

    /// A change, or all those of a step.
    private struct Sample {
        var revision: Int
        var time: Int
        /// After the last of them.
        var value: JSON?
        var least: JSON?
        var most: JSON?
        var count = 1
        /// Who made the last of them; nil where that is not shown, or not asked for.
        var by: JSON?

        /// With a later one in the same step.
        mutating func take(_ other: Sample) {
            (revision, time, value) = (other.revision, other.time, other.value)
            count += other.count
            if let least = other.least, self.least.map({ $0.double! > least.double! }) ?? true {
                self.least = least
            }
            if let most = other.most, self.most.map({ $0.double! < most.double! }) ?? true {
                self.most = most
            }
        }
    }

    /// - Parameter sought: The revision since which the store may have existed; nil: it is known to have existed.
    init(
        _ walk: ValueWalk<Source>, of path: JSONPointer, after since: Int, through until: Int, most: Int,
        now: Int, times: ClosedRange<Int>, value: JSON?, sought: Int?
    ) throws(PastFailure) {
        self.walk = walk
        self.path = path
        self.most = most
        self.times = times
        isSought = sought != nil
        last = .some(value)
        let defined = try walk.lastDefinition(after: since, through: now) ?? since
        var parts = [
            (since, min(until, defined), isDefined: false, isAside: false),
            (max(since, defined), until, isDefined: true, isAside: false),
        ]
        if let sought { parts += [(sought, since, false, true), (until, now, false, true)] }
        var searches: [(CommitSearch, ClosedRange<Int>, Bool)] = []
        for (first, last, isDefined, isAside) in parts where first < last {
            let search = try CommitSearch(
                walk.query(for: [path.tokens], isDefined: isDefined), after: first, through: last,
                newestFirst: false, in: walk.source)
            searches.append((search, first + 1...last, isAside))
        }
        self.searches = searches
        add(Sample(revision: since, time: times.lowerBound, value: value), isChange: false)
    }

    /// Goes on while there is time; true when all has been looked at.
    func advance(hasTime: () -> Bool) throws(PastFailure) -> Bool {
        while place < searches.count {
            let (search, range, isAside) = searches[place]
            if isAside, !isSought { break }
            guard let found = try search.nextRevisions(in: walk.source) else {
                place += 1
                continue
            }
            var isFirst = true
            try walk.walk(found.filter { $0.overlaps(range) }.map { $0.clamped(to: range) }) {
                revision, time, state in
                defer { isFirst = false }
                if state != nil { isSought = false }
                if isAside { return }
                let value = state.flatMap(path.resolve)
                if isFirst || value == last ?? nil { return }
                last = .some(value)
                add(Sample(revision: revision, time: time, value: value), isChange: true)
            }
            if !hasTime() { return false }
        }
        return true
    }

    /// Looks up who made each change, once all are known, while there is time; true when that is done.
    func addAuthors(
        hasTime: () -> Bool, _ author: (_ revision: Int) throws(PastFailure) -> JSON?
    ) throws(PastFailure) -> Bool {
        while authored < samples.count {
            // The first may be none but the value at the beginning.
            if samples[authored].count > 0 { samples[authored].by = try author(samples[authored].revision) }
            authored += 1
            if !hasTime() { return authored == samples.count }
        }
        return true
    }

    private func add(_ sample: Sample, isChange: Bool) {
        var sample = sample
        if sample.value?.double != nil { (sample.least, sample.most) = (sample.value, sample.value) }
        if !isChange { sample.count = 0 }
        append(sample)
        guard !isCoarse, samples.count > most else { return }
        isCoarse = true
        let all = samples
        samples = []
        for sample in all { append(sample) }
    }

    private func append(_ sample: Sample) {
        if isCoarse, let last = samples.last, step(of: last) == step(of: sample) {
            samples[samples.count - 1].take(sample)
        } else {
            samples.append(sample)
        }
    }

    /// Which of the equal steps a sample is in.
    private func step(of sample: Sample) -> Int {
        let length = times.upperBound - times.lowerBound + 1
        return min(most - 1, max(0, sample.time - times.lowerBound) * most / length)
    }

    func append(to reply: ByteWriter) {
        reply.append(",\"samples\":[")
        for (place, sample) in samples.enumerated() {
            var object: JSONObject = [
                "revision": .int(sample.revision), "time": .double(Double(sample.time) / 1000),
            ]
            object["value"] = sample.value
            object["by"] = sample.by
            if sample.count > 1 || isCoarse {
                object["least"] = sample.least
                object["most"] = sample.most
                object["changes"] = .int(sample.count)
            }
            if place > 0 { reply.append(UInt8(ascii: ",")) }
            reply.append(jsonObject: object)
        }
        reply.append(UInt8(ascii: "]"))
    }
}
