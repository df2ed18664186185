import BusCluster
import CCurl
import EtcdLog
import Foundation
import TestEtcd
import Testing

/// What the log costs beside a bare loop over libcurl with the same etcd, in the same run. It takes long and needs a quiet
/// machine: `FLUXBUS_MEASURE=1 swift test -c release --filter LatencyMeasurement`.
@Suite(
    .serialized,
    .enabled(
        if: TestEtcd.isInstalled && ProcessInfo.processInfo.environment["FLUXBUS_MEASURE"] != nil,
        "FLUXBUS_MEASURE is not set: this measures."))
struct LatencyMeasurement {
    @Test(arguments: [1, 3])
    func putUntilSeen(servers: Int) throws {
        let etcd = try TestEtcd(servers: servers)
        let owner = try LogOwner(etcd, bus: "measured")
        owner.read()
        try owner.join("kitchen")
        let bare = BareLoop(etcd.endpoints[0])
        let content = [UInt8](repeating: 0x61, count: 200)
        try owner.proposeNext(content)
        bare.put(content)
        var (log, loop, transaction): ([Double], [Double], [Double]) = ([], [], [])
        // By turns, so that both meet the same disk.
        for _ in 0..<20 {
            for _ in 0..<50 { log.append(try seconds { try see(owner, content) }) }
            for _ in 0..<50 { loop.append(seconds { bare.put(content) }) }
            for _ in 0..<50 { transaction.append(seconds { bare.put(content, asTransaction: true) }) }
        }
        let (ours, theirs) = (Percentiles(log), Percentiles(loop))
        print("put until seen, \(servers) server(s), µs: EtcdLog \(ours), bare loop \(theirs)")
        print("bare loop, with a transaction as a proposal needs it: \(Percentiles(transaction))")
        print("ratio of medians: \(Double(Int(ours.median / theirs.median * 100)) / 100)")
        // The goal is met against the same work: a put alone could not keep proposals apart.
        #expect(ours.median <= 1.3 * Percentiles(transaction).median)
    }

    @Test(arguments: [1, 3])
    func proposalsOf32KB(servers: Int) throws {
        let etcd = try TestEtcd(servers: servers)
        let owner = try LogOwner(etcd, bus: "measured")
        owner.read()
        try owner.join("kitchen")
        let content = [UInt8](repeating: 0x61, count: 32 << 10)
        try owner.proposeNext(content)
        let count = 1000
        let time = try seconds {
            for _ in 0..<count { try owner.proposeNext(content) }
            try owner.catchUp()
        }
        print(
            "proposals of 32 kB, one at a time, \(servers) server(s): \(Int(Double(count) / time)) in a second"
        )
        let late = try LogOwner(etcd, bus: "measured")
        let reading = try seconds {
            late.read()
            try late.catchUp()
        }
        print("read by one who comes late: \(Int(Double(count) / reading)) in a second")
        #expect(late.entries.proposals.count == count + 1)
    }

    /// Proposes, and waits until the entry is delivered and the outcome is known.
    private func see(_ owner: LogOwner, _ content: [UInt8]) throws {
        let place = try owner.proposeNext(content)
        if owner.entries.last?.place == place { return }
        try owner.wait("entry") { event -> Bool? in
            if case .entry(let entry) = event, entry.place == place { true } else { nil }
        }
    }

    private func seconds(_ body: () throws -> Void) rethrows -> Double {
        let start = DispatchTime.now().uptimeNanoseconds
        try body()
        return Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
    }
}

private struct Percentiles: CustomStringConvertible {
    let median: Double
    private let last: Double

    init(_ seconds: [Double]) {
        let sorted = seconds.sorted()
        median = sorted[sorted.count / 2] * 1e6
        last = sorted[sorted.count * 99 / 100] * 1e6
    }

    var description: String { "p50 \(Int(median)) p99 \(Int(last))" }
}

/// The least that a put and its watch can cost with libcurl: one thread, nothing read but that something came.
private final class BareLoop {
    private final class Arrivals { var count = 0 }

    private let multi = curl_multi_init()
    private let watch = curl_easy_init()
    private let writer = curl_easy_init()
    private let seen = Arrivals()
    private let ignored = Arrivals()

    private let endpoint: String

    init(_ endpoint: String) {
        self.endpoint = endpoint
        let key = Data("/bare/key".utf8).base64EncodedString()
        set(watch, endpoint + "/v3/watch", "{\"create_request\":{\"key\":\"\(key)\"}}", seen)
        curl_multi_add_handle(multi, watch)
        // The first message says that it watches.
        run { self.seen.count > 0 }
        seen.count = 0
    }

    deinit {
        for easy in [watch, writer] {
            curl_multi_remove_handle(multi, easy)
            curl_easy_cleanup(easy)
        }
        curl_multi_cleanup(multi)
    }

    /// Puts, and waits until the answer and the change are there.
    func put(_ content: [UInt8], asTransaction: Bool = false) {
        seen.count = 0
        let key = Data("/bare/key".utf8).base64EncodedString()
        let put = "{\"key\":\"\(key)\",\"value\":\"\(Data(content).base64EncodedString())\"}"
        // Two conditions, as a proposal has them.
        let absent =
            "{\"key\":\"\(Data("/bare/none".utf8).base64EncodedString())\",\"target\":\"VERSION\",\"version\":\"0\"}"
        let body =
            asTransaction ? "{\"compare\":[\(absent),\(absent)],\"success\":[{\"request_put\":\(put)}]}" : put
        set(writer, endpoint + (asTransaction ? "/v3/kv/txn" : "/v3/kv/put"), body, ignored)
        curl_multi_add_handle(multi, writer)
        var isAnswered = false
        run {
            var result = CURLE_OK
            if curl_multi_ended(self.multi, &result) == self.writer { isAnswered = true }
            return isAnswered && self.seen.count > 0
        }
        curl_multi_remove_handle(multi, writer)
    }

    private func run(_ isOver: () -> Bool) {
        var running: Int32 = 0
        while true {
            curl_multi_perform(multi, &running)
            if isOver() { return }
            curl_multi_poll(multi, nil, 0, 1000, nil)
        }
    }

    private func set(
        _ easy: UnsafeMutableRawPointer?, _ address: String, _ body: String, _ arrivals: Arrivals
    ) {
        _ = curl_set_text(easy, CURLOPT_URL, address)
        _ = curl_set_number(easy, CURLOPT_POSTFIELDSIZE, body.utf8.count)
        _ = curl_set_text(easy, CURLOPT_COPYPOSTFIELDS, body)
        _ = curl_set_receiver(
            easy,
            { _, size, count, context in
                if let context { Unmanaged<Arrivals>.fromOpaque(context).takeUnretainedValue().count += 1 }
                return size * count
            }, Unmanaged.passUnretained(arrivals).toOpaque())
    }
}
