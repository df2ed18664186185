import BusCluster
import BusHTTP
import BusSystem
import CCurl

/// The way to one server of the cluster at a time: finds one that has a majority behind it, keeps our token, and goes on to
/// the next where one fails.
///
/// Everything goes to the same server, the watch too: a request that fails tells that the watch may be blind as well.
final class EtcdLink {
    typealias Answer = (Result<EtcdReply, EtcdFault>) -> Void

    /// How a server was found.
    struct Finding {
        let cluster: String
        /// The store's revision at a moment after the search began, by a majority's word.
        let revision: Int
    }

    private enum State {
        /// Asking a server.
        case searching
        /// All have failed; the search goes on at this time.
        case resting(until: Int)
        case live(since: Int)
    }

    let transfers: Transfers
    private let settings: EtcdSettings
    private let keys: EtcdKeys
    private let mailbox: EtcdMailbox

    private var state = State.resting(until: 0)
    private var current = 0
    /// Counts searches: what an earlier one brings is not heard.
    private var search = 0
    /// How many answers in a row did not come in time.
    private var timeouts = 0
    private var failures = 0
    private var lastFault = EtcdFault(.server, mayHappen: false, .unreachable, "No etcd was asked yet.")
    /// What the owner was told last.
    private var isAttached: Bool?
    private var token: String?
    private var needsToken: Bool
    /// Calls for the server that is being searched.
    private var held: [(EtcdRequest, Answer)] = []

    /// A server was found; calls may be made.
    var onFound: ((Finding) -> Void)?
    /// The server in use is no longer.
    var onLost: (() -> Void)?

    init(_ settings: EtcdSettings, _ keys: EtcdKeys, _ mailbox: EtcdMailbox, _ transfers: Transfers) {
        self.settings = settings
        self.keys = keys
        self.mailbox = mailbox
        self.transfers = transfers
        needsToken = settings.user != nil
    }

    var endpoint: String { settings.endpoints[current] }
    var isLive: Bool { if case .live = state { true } else { false } }

    /// When there is something to do though nothing comes; nil: never.
    var deadline: Int? { if case .resting(let time) = state { time } else { nil } }

    func tick(_ now: Int) {
        if case .resting(let time) = state, time <= now { beginSearch() }
    }

    // MARK: - Calls

    /// Makes a call once: to the server in use, or to the next one if that is found at the first attempt.
    func call(_ request: EtcdRequest, _ answer: @escaping Answer) {
        switch state {
        case .live: send(request, mayRenewToken: true, answer)
        // Before the first search, too, there is one to wait for.
        case .searching where isAttached != false && held.count < EtcdLimits.heldCalls,
            .resting where isAttached == nil && held.count < EtcdLimits.heldCalls:
            held.append((request, answer))
        case .searching, .resting:
            // Nothing was sent, whatever became of requests before.
            answer(.failure(EtcdFault(.server, mayHappen: false, lastFault.failure)))
        }
    }

    /// Begins a stream at the server in use.
    func stream(
        _ request: EtcdRequest, receive: @escaping (UnsafeRawBufferPointer) -> Transfer.Reception,
        finish: @escaping (EtcdFault) -> Void
    ) -> Transfer {
        let endpoint = endpoint
        return transfers.start(
            request.http(at: endpoint, token, settings, timeout: nil), receive: receive,
            finish: { outcome in
                switch outcome {
                case .answered(status: 200, _, _):
                    finish(
                        EtcdFault(
                            .server, mayHappen: false, .unreachable,
                            "\(endpoint) has ended the watch: see how etcd does there."))
                default: finish(Self.fault(endpoint, outcome))
                }
            })
    }

    private func send(_ request: EtcdRequest, mayRenewToken: Bool, _ answer: @escaping Answer) {
        let asked = search
        exchange(request) { [weak self] result in
            guard let self else { return }
            guard case .failure(let fault) = result else { return answer(result) }
            switch fault.kind {
            case .token where mayRenewToken && settings.user != nil && isLive:
                renewToken { fault in
                    guard let fault else { return self.send(request, mayRenewToken: false, answer) }
                    answer(.failure(EtcdFault(fault.kind, mayHappen: false, fault.failure)))
                    if asked == self.search { self.fail(fault) }
                }
            case .server, .token:
                answer(result)
                if asked == search { fail(fault) }
            case .noAuthentication, .leaseGone, .compacted, .refused: answer(result)
            }
        }
    }

    private func exchange(_ request: EtcdRequest, _ answer: @escaping Answer) {
        let endpoint = endpoint
        transfers.start(request.http(at: endpoint, token, settings, timeout: patience)) {
            [weak self] outcome in
            self?.notePatience(after: outcome)
            do throws(EtcdFault) {
                guard case .answered(status: 200, let body, _) = outcome else {
                    throw Self.fault(endpoint, outcome)
                }
                answer(.success(try EtcdReply(endpoint, body)))
            } catch {
                answer(.failure(error))
            }
        }
    }

    /// How long an answer is waited for now.
    private var patience: Duration {
        min(settings.times.answer, settings.times.firstAnswer * (1 << timeouts))
    }

    private func notePatience(after outcome: Transfer.Outcome) {
        switch outcome {
        case .answered: timeouts = 0
        case .failed(let failure) where failure.code == CURLE_OPERATION_TIMEDOUT:
            timeouts = min(timeouts + 1, 8)
        case .failed: break
        }
    }

    // MARK: - Searching

    /// The server in use is no good any more.
    func fail(_ fault: EtcdFault) {
        guard case .live(let since) = state else { return }
        // One that fails as soon as it was found must not be found again and again.
        if MonotonicClock.milliseconds - since > settings.times.lastRetry.milliseconds { failures = 0 }
        onLost?()
        goOn(after: fault)
    }

    /// Looks for a server again, the one in use first: what it says about itself is wanted.
    func searchAgain() {
        guard isLive else { return }
        onLost?()
        beginSearch()
    }

    private func goOn(after fault: EtcdFault) {
        lastFault = fault
        failures += 1
        current = (current + 1) % settings.endpoints.count
        guard failures >= settings.endpoints.count else { return beginSearch() }
        search += 1
        let rounds = failures / settings.endpoints.count
        let wait = min(
            settings.times.firstRetry.milliseconds << min(rounds - 1, 16),
            settings.times.lastRetry.milliseconds)
        state = .resting(until: MonotonicClock.milliseconds + wait)
        if isAttached != false {
            isAttached = false
            mailbox.put(.detached(fault.failure))
        }
        let calls = held
        held = []
        for (_, answer) in calls {
            answer(.failure(EtcdFault(.server, mayHappen: false, fault.failure)))
        }
    }

    private func beginSearch() {
        state = .searching
        search += 1
        guard needsToken, token == nil else { return probe() }
        let asked = search
        renewToken { [weak self] fault in
            guard let self, asked == search else { return }
            if let fault { goOn(after: fault) } else { probe() }
        }
    }

    private func probe() {
        let asked = search
        // Read as a majority sees it: a server without one does not answer.
        exchange(.range(prefix: keys.members, onlyCount: true)) { [weak self] result in
            guard let self, asked == search else { return }
            do throws(EtcdFault) {
                let reply = try result.get()
                found(Finding(cluster: reply.cluster, revision: try reply.revision()))
            } catch {
                if error.kind == .token {
                    token = nil
                    needsToken = settings.user != nil
                }
                goOn(after: error)
            }
        }
    }

    private func found(_ finding: Finding) {
        state = .live(since: MonotonicClock.milliseconds)
        if isAttached != true {
            isAttached = true
            mailbox.put(.attached(cluster: finding.cluster))
        }
        let calls = held
        held = []
        for (request, answer) in calls { send(request, mayRenewToken: true, answer) }
        onFound?(finding)
    }

    private func renewToken(_ then: @escaping (EtcdFault?) -> Void) {
        token = nil
        exchange(.authenticate(settings.user ?? "", settings.password)) { [weak self] result in
            guard let self else { return }
            do throws(EtcdFault) {
                token = try result.get().text("token")
                then(nil)
            } catch  where error.kind == .noAuthentication {
                needsToken = false
                then(nil)
            } catch {
                then(error)
            }
        }
    }

    // MARK: - Failures of transfers

    private static func fault(_ endpoint: String, _ outcome: Transfer.Outcome) -> EtcdFault {
        switch outcome {
        case .answered(let status, let body, _): return EtcdFault(endpoint, status: status, body: body)
        case .failed(let failure):
            let words = failure.words
            let (kind, advice): (OrderedLogFailure.Kind, String) =
                switch failure.code {
                case CURLE_OPERATION_TIMEDOUT: (.timedOut, "see how etcd and the network do")
                case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR:
                    (.untrusted, "check its certificate and `ca`")
                // With TLS 1.3 a server refuses our certificate when the handshake is over for us.
                case CURLE_RECV_ERROR where words.contains("SSL routines"),
                    CURLE_SEND_ERROR where words.contains("SSL routines"):
                    (.untrusted, "check our certificate and etcd's authorities")
                case CURLE_SSL_CONNECT_ERROR: (.untrusted, "check that both speak TLS, and our certificate")
                case CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE, CURLE_URL_MALFORMAT,
                    CURLE_UNSUPPORTED_PROTOCOL:
                    (.unusable, "check the addresses and the files of `cluster`")
                case CURLE_WRITE_ERROR: (.unexpected, "its answer is too long: check that it is an etcd")
                case CURLE_RECV_ERROR where endpoint.hasPrefix("https:"),
                    CURLE_SEND_ERROR where endpoint.hasPrefix("https:"):
                    (.unreachable, "check that etcd runs there, and that it trusts our certificate")
                default: (.unreachable, "check that etcd runs there and the address is right")
                }
            return EtcdFault(
                .server, mayHappen: failure.wasSent, kind, "\(endpoint) fails (\(words)): \(advice).")
        }
    }
}
