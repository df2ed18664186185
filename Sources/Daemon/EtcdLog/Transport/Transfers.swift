import CCurl
import Glibc

/// Requests over HTTP, many at a time, on the thread of whoever calls `run`.
///
/// `@unchecked Sendable` for `wake` alone, which libcurl allows from any thread; everything else belongs to one thread.
final class Transfers: @unchecked Sendable {
    private let multi: UnsafeMutableRawPointer
    private let settings: EtcdSettings
    private var running: [UnsafeMutableRawPointer: Transfer] = [:]
    /// Handles that have done their work: the next transfers take them.
    private var idle: [UnsafeMutableRawPointer] = []

    /// libcurl wants this once, before all else.
    private static let isReady: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    init(_ settings: EtcdSettings) {
        guard Self.isReady, let multi = curl_multi_init() else {
            preconditionFailure("There is no memory for libcurl.")
        }
        self.multi = multi
        self.settings = settings
    }

    deinit {
        for easy in idle { curl_easy_cleanup(easy) }
        curl_multi_cleanup(multi)
    }

    /// Ends a wait, from any thread.
    func wake() { curl_multi_wakeup(multi) }

    // MARK: - On the thread

    /// Sends a request.
    ///
    /// - Parameters:
    ///   - token: Whom it is from.
    ///   - timeout: For the whole answer; nil: for a stream, which ends when it ends.
    ///   - receive: For streams, see `Transfer`.
    @discardableResult
    func start(
        _ request: EtcdRequest, at endpoint: String, token: String?, timeout: Duration?,
        receive: ((UnsafeRawBufferPointer) -> Transfer.Reception)? = nil,
        finish: @escaping (Transfer.Outcome) -> Void
    ) -> Transfer {
        guard let easy = idle.popLast() ?? curl_easy_init() else {
            preconditionFailure("There is no memory for a request.")
        }
        let transfer = Transfer(easy)
        transfer.receive = receive
        transfer.finish = finish
        // No header asks whether a long body may follow: that would cost a round trip.
        var headers = ["Content-Type: application/json", "Expect:"]
        if let token { headers.append("Authorization: \(token)") }
        transfer.setHeaders(headers)
        _ = curl_set_text(easy, CURLOPT_URL, endpoint + request.path)
        set(request.body, on: easy)
        setConnection(on: easy)
        if let timeout { _ = curl_set_number(easy, CURLOPT_TIMEOUT_MS, max(1, timeout.milliseconds)) }
        _ = curl_set_receiver(
            easy,
            { bytes, size, count, context in
                guard let context else { return 0 }
                let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
                switch transfer.take(UnsafeRawBufferPointer(start: bytes, count: size * count)) {
                case .taken: return size * count
                case .later: return curl_receive_later
                case .enough: return 0
                }
            }, Unmanaged.passUnretained(transfer).toOpaque())
        running[easy] = transfer
        curl_multi_add_handle(multi, easy)
        return transfer
    }

    /// Ends a transfer without a word. Not from within its `receive`.
    func cancel(_ transfer: Transfer) {
        guard running.removeValue(forKey: transfer.easy) != nil else { return }
        retire(transfer)
    }

    /// Ends all transfers, and lets go of who waits for them. Nothing may be started afterwards.
    func cancelAll() {
        for transfer in running.values { retire(transfer) }
        running = [:]
    }

    /// Lets a stream go on whose bytes were to come later.
    func goOn(_ transfer: Transfer) {
        guard transfer.isPaused, running[transfer.easy] != nil else { return }
        transfer.isPaused = false
        curl_easy_pause(transfer.easy, CURLPAUSE_CONT)
    }

    /// Moves what can be moved, and finishes what has ended.
    func run() {
        var stillRunning: Int32 = 0
        curl_multi_perform(multi, &stillRunning)
        var result = CURLE_OK
        while let easy = curl_multi_ended(multi, &result) {
            guard let transfer = running.removeValue(forKey: easy) else { continue }
            let outcome = outcome(of: transfer, result)
            retire(transfer)
            transfer.finish?(outcome)
        }
    }

    /// Waits until there is something to run, until `wake`, or for this long.
    func wait(milliseconds: Int) {
        curl_multi_poll(multi, nil, 0, Int32(clamping: max(0, milliseconds)), nil)
    }

    private func retire(_ transfer: Transfer) {
        curl_multi_remove_handle(multi, transfer.easy)
        curl_easy_reset(transfer.easy)
        if idle.count < EtcdLimits.keptConnections {
            idle.append(transfer.easy)
        } else {
            curl_easy_cleanup(transfer.easy)
        }
    }

    private func outcome(of transfer: Transfer, _ result: CURLcode) -> Transfer.Outcome {
        if result == CURLE_OK { return .answered(status: transfer.status, body: transfer.body) }
        return .failed(
            result, transfer.description(of: result),
            wasSent: curl_number(transfer.easy, CURLINFO_REQUEST_SIZE) > 0)
    }

    // MARK: - Options

    private func set(_ body: [UInt8], on easy: UnsafeMutableRawPointer) {
        _ = curl_set_number(easy, CURLOPT_POST, 1)
        _ = curl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, Int(body.count))
        body.withUnsafeBytes { _ = curl_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, $0.baseAddress) }
    }

    private func setConnection(on easy: UnsafeMutableRawPointer) {
        _ = curl_set_number(easy, CURLOPT_NOSIGNAL, 1)
        // The watch has a connection of its own: one that is held up holds nothing else up.
        _ = curl_set_number(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        _ = curl_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https")
        // The environment's proxies are for other things.
        _ = curl_set_text(easy, CURLOPT_PROXY, "")
        _ = curl_set_number(
            easy, CURLOPT_CONNECTTIMEOUT_MS, max(1, settings.times.connecting.milliseconds))
        _ = curl_set_number(easy, CURLOPT_MAXCONNECTS, EtcdLimits.keptConnections)
        _ = curl_set_number(easy, CURLOPT_TCP_KEEPALIVE, 1)
        _ = curl_set_number(easy, CURLOPT_TCP_KEEPIDLE, 5)
        _ = curl_set_number(easy, CURLOPT_TCP_KEEPINTVL, 2)
        // More than one entry of 32 kB at a time.
        _ = curl_set_number(easy, CURLOPT_BUFFERSIZE, 128 << 10)
        _ = curl_set_number(easy, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        if let authority = settings.authority { _ = curl_set_text(easy, CURLOPT_CAINFO, authority) }
        if let certificate = settings.certificate { _ = curl_set_text(easy, CURLOPT_SSLCERT, certificate) }
        if let key = settings.key { _ = curl_set_text(easy, CURLOPT_SSLKEY, key) }
    }
}

/// One request on its way, with what has come of its answer.
final class Transfer {
    enum Outcome {
        /// The whole answer, with the status of HTTP.
        case answered(status: Int, body: [UInt8])
        /// - Parameter wasSent: Something of the request has left, so the server may act on it.
        case failed(CURLcode, String, wasSent: Bool)
    }

    /// What becomes of bytes that come in.
    enum Reception {
        case taken
        /// They are to come again later.
        case later
        /// The transfer is to end.
        case enough
    }

    let easy: UnsafeMutableRawPointer
    /// For streams: gets the bytes of an answer of status 200 as they come.
    var receive: ((UnsafeRawBufferPointer) -> Reception)?
    /// Called once, unless the transfer is cancelled.
    var finish: ((Outcome) -> Void)?
    private(set) var body: [UInt8] = []
    var isPaused = false
    private var headers: UnsafeMutablePointer<curl_slist>?

    /// Where libcurl says in words what went wrong.
    private let words = UnsafeMutableBufferPointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    init(_ easy: UnsafeMutableRawPointer) {
        self.easy = easy
        words.initialize(repeating: 0)
        _ = curl_set_pointer(easy, CURLOPT_ERRORBUFFER, words.baseAddress)
    }

    deinit {
        curl_slist_free_all(headers)
        words.deallocate()
    }

    /// What went wrong, in libcurl's words.
    func description(of code: CURLcode) -> String {
        let said = String(decoding: words.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return said.isEmpty ? String(cString: curl_easy_strerror(code)) : said
    }

    /// Before it starts; kept as long as the transfer.
    func setHeaders(_ lines: [String]) {
        for line in lines { headers = curl_slist_append(headers, line) }
        _ = curl_set_headers(easy, headers)
    }

    var status: Int { curl_number(easy, CURLINFO_RESPONSE_CODE) }

    func take(_ bytes: UnsafeRawBufferPointer) -> Reception {
        if let receive, status == 200 {
            let reception = receive(bytes)
            if reception == .later { isPaused = true }
            return reception
        }
        guard body.count + bytes.count <= EtcdLimits.answer else { return .enough }
        body += bytes
        return .taken
    }
}
