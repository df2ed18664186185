/// How often clients at an address showed no token of the bus. The more often they did, the longer the next one there
/// waits, whatever it shows: whoever tries tokens tries few of them. Times are monotonic milliseconds.
struct Guesses {
    /// The first wrong token may be a mistake; the next one waits for so long, and each one after it twice as long…
    static let firstWait = 100
    /// …up to this. Longer would punish those who share the address, and on this machine many do.
    static let longestWait = 1000
    /// So long after the last wrong one the address is as good as any.
    static let memory = 10_000
    /// Addresses kept apart, of which this machine alone has millions; past it, all that are new share one.
    static let addresses = 1024

    private struct Record {
        var times: Int
        var last: Int
    }

    private var records: [String: Record] = [:]

    /// How long a client from there has to wait now.
    func wait(for host: String, now: Int) -> Int {
        guard let record = records[host] ?? records[Self.others], now - record.last < Self.memory else {
            return 0
        }
        return min(Self.longestWait, Self.firstWait << min(record.times - 1, 8))
    }

    mutating func addWrong(from host: String, now: Int) {
        var host = host
        if records[host] == nil, records.count >= Self.addresses {
            records = records.filter { now - $0.value.last < Self.memory }
            if records.count >= Self.addresses { host = Self.others }
        }
        let known = records[host].flatMap { now - $0.last < Self.memory ? $0.times : nil } ?? 0
        records[host] = Record(times: known + 1, last: now)
    }

    private static let others = "others"
}
