import BusEngine
import BusSystem
import EtcdLog

/// Members that read the shared log through this one, each waiting for what comes next. It belongs to the bus queue.
struct LogFollowers {
    private let feed: RelayFeed
    private var waiting: [(query: ClusterQuery, place: Int, until: Int)] = []

    /// How long one waits at most, so that it knows that this member is there.
    static let patience = Duration.seconds(5)

    init(_ feed: RelayFeed) { self.feed = feed }

    var count: Int { waiting.count }
    /// When the first has waited long enough, in monotonic milliseconds; nil: nobody waits.
    var due: Int? { waiting.first?.until }

    mutating func add(_ query: ClusterQuery, behind place: Int, now: Int) {
        waiting.append((query, place, now + Self.patience.milliseconds))
    }

    /// The answers that can be given now.
    mutating func answers(now: Int) -> [(ClusterQuery, Result<[UInt8], ClusterRefusal>)] {
        var answers: [(ClusterQuery, Result<[UInt8], ClusterRefusal>)] = []
        // Most are at one place, and what fits into less room will do.
        var last: (place: Int, room: Int, answer: Result<[UInt8], ClusterRefusal>?)?
        waiting.removeAll { [feed] query, place, until in
            if last?.place != place || last.map({ $0.room > query.room }) == true {
                last = (place, query.room, Self.answer(from: feed, behind: place, room: query.room))
            }
            var answer = last?.answer
            if answer == nil, now >= until {
                answer = feed.nothing(behind: place).map { .success($0.members) }
            }
            if let answer { answers.append((query, answer)) }
            return answer != nil
        }
        return answers
    }

    private static func answer(
        from feed: RelayFeed, behind place: Int, room: Int
    ) -> Result<[UInt8], ClusterRefusal>? {
        switch feed.answer(behind: place, room: room) {
        case .part(let part): .success(part.members)
        case .nothing: nil
        case .refused(let reason): .failure(ClusterRefusal(reason))
        }
    }
}
