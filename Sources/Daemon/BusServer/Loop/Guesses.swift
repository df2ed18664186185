/// Counts wrong tokens by the clients' address. The more there were, the longer the next client from there waits,
/// whatever it sends: an attacker can try only few tokens. Times are monotonic milliseconds.
struct Guesses {
    /// The first wrong token may be a mistake; the next client waits this long, and each one after it twice as long…
    static let firstWait = 100
    /// …up to this. A longer wait would punish others that share the address, and on this machine many do.
    static let longestWait = 1000
    /// This long after the last wrong token the address is treated like any other.
    static let memory = 10_000
    /// Addresses counted separately, of which this machine alone has millions; beyond it, all new ones share one.
    static let addresses = 1024

    private struct Record {
        var times: Int
        var last: Int
    }

    private var records: [String: Record] = [:]

    /// How long a client from this address has to wait now.
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
