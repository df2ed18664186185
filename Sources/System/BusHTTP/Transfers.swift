import BusSystem
import CCurl
import Glibc

/// Requests over HTTP, many at a time, on the thread of whoever calls `run`.
///
/// `@unchecked Sendable` for `wake` alone, which libcurl allows from any thread; everything else belongs to one thread.
package final class Transfers: @unchecked Sendable {
    private let multi: UnsafeMutableRawPointer
    private let kept: Int
    private var running: [UnsafeMutableRawPointer: Transfer] = [:]
    /// Handles that have done their work: the next transfers take them.
    private var idle: [UnsafeMutableRawPointer] = []

    /// Why there can be no requests on this machine, with what to do; nil: there can.
    package static let absence: String? = curl_absence().map {
        "libcurl can't be loaded (\(String(cString: $0))); install it, as Debian's libcurl4 or Fedora's libcurl"
    }

    /// libcurl wants this once, before all else.
    private static let isReady: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// Nothing may be absent.
    ///
    /// - Parameter kept: Connections that stay open for the next requests. Where one of them ends before an answer has begun,
    ///   libcurl sends the request again by itself; without any, each request is sent once.
    package init(keeping kept: Int) {
        guard Self.isReady, let multi = curl_multi_init() else {
            preconditionFailure("There is no memory for libcurl.")
        }
        self.multi = multi
        self.kept = kept
    }

    deinit {
        for easy in idle { curl_easy_cleanup(easy) }
        curl_multi_cleanup(multi)
    }

    /// Ends a wait, from any thread.
    package func wake() { curl_multi_wakeup(multi) }

    // MARK: - On the thread

    /// Sends a request.
    ///
    /// - Parameter receive: For streams, see `Transfer`.
    @discardableResult
    package func start(
        _ request: HTTPRequest, receive: ((UnsafeRawBufferPointer) -> Transfer.Reception)? = nil,
        finish: @escaping (Transfer.Outcome) -> Void
    ) -> Transfer {
        guard let easy = idle.popLast() ?? curl_easy_init() else {
            preconditionFailure("There is no memory for a request.")
        }
        let transfer = Transfer(easy, most: request.longestAnswer)
        transfer.receive = receive
        transfer.finish = finish
        // No header asks whether a long body may follow: that would cost a round trip.
        transfer.setHeaders(request.headers + ["Expect:"])
        set(request, on: easy)
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
    package func cancel(_ transfer: Transfer) {
        guard running.removeValue(forKey: transfer.easy) != nil else { return }
        retire(transfer)
    }

    /// Ends all transfers, and lets go of who waits for them. Nothing may be started afterwards.
    package func cancelAll() {
        for transfer in running.values { retire(transfer) }
        running = [:]
    }

    /// Lets a stream go on whose bytes were to come later.
    package func goOn(_ transfer: Transfer) {
        guard transfer.isPaused, running[transfer.easy] != nil else { return }
        transfer.isPaused = false
        curl_easy_pause(transfer.easy, CURLPAUSE_CONT)
    }

    /// Moves what can be moved, and finishes what has ended.
    package func run() {
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
    package func wait(milliseconds: Int) {
        curl_multi_poll(multi, nil, 0, Int32(clamping: max(0, milliseconds)), nil)
    }

    private func retire(_ transfer: Transfer) {
        curl_multi_remove_handle(multi, transfer.easy)
        curl_easy_reset(transfer.easy)
        if idle.count < kept {
            idle.append(transfer.easy)
        } else {
            curl_easy_cleanup(transfer.easy)
        }
    }

    private func outcome(of transfer: Transfer, _ result: CURLcode) -> Transfer.Outcome {
        if result == CURLE_OK {
            return .answered(
                status: transfer.status, body: transfer.body, retryAfter: transfer.retryAfter)
        }
        return .failed(
            HTTPFailure(
                code: result, words: transfer.description(of: result), status: transfer.status,
                wasSent: curl_number(transfer.easy, CURLINFO_REQUEST_SIZE) > 0))
    }

    // MARK: - Options

    private func set(_ request: HTTPRequest, on easy: UnsafeMutableRawPointer) {
        _ = curl_set_text(easy, CURLOPT_URL, request.url)
        _ = curl_set_number(easy, CURLOPT_POST, 1)
        _ = curl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, Int(request.body.count))
        request.body.withUnsafeBytes { _ = curl_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, $0.baseAddress) }
        if let timeout = request.timeout {
            _ = curl_set_number(easy, CURLOPT_TIMEOUT_MS, max(1, timeout.milliseconds))
        }
        _ = curl_set_number(easy, CURLOPT_CONNECTTIMEOUT_MS, max(1, request.connecting.milliseconds))
        setConnection(on: easy)
        set(request.trust, on: easy)
    }

    private func setConnection(on easy: UnsafeMutableRawPointer) {
        _ = curl_set_number(easy, CURLOPT_NOSIGNAL, 1)
        // A stream has a connection of its own: one that is held up holds nothing else up.
        _ = curl_set_number(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        _ = curl_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https")
        // The environment's proxies are for other things.
        _ = curl_set_text(easy, CURLOPT_PROXY, "")
        if kept > 0 {
            _ = curl_set_number(easy, CURLOPT_MAXCONNECTS, kept)
        } else {
            _ = curl_set_number(easy, CURLOPT_FRESH_CONNECT, 1)
            _ = curl_set_number(easy, CURLOPT_FORBID_REUSE, 1)
        }
        _ = curl_set_number(easy, CURLOPT_TCP_KEEPALIVE, 1)
        _ = curl_set_number(easy, CURLOPT_TCP_KEEPIDLE, 5)
        _ = curl_set_number(easy, CURLOPT_TCP_KEEPINTVL, 2)
        // More than one entry of 32 kB at a time.
        _ = curl_set_number(easy, CURLOPT_BUFFERSIZE, 128 << 10)
    }

    private func set(_ trust: HTTPTrust, on easy: UnsafeMutableRawPointer) {
        _ = curl_set_number(easy, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        if let authority = trust.authority {
            _ = curl_set_text(easy, CURLOPT_CAINFO, authority)
            // The directory of the authorities that the system trusts would count besides.
            _ = curl_set_text(easy, CURLOPT_CAPATH, nil)
            // A file that is replaced counts for the next connection.
            _ = curl_set_number(easy, CURLOPT_CA_CACHE_TIMEOUT, 0)
        }
        if let certificate = trust.certificate { _ = curl_set_text(easy, CURLOPT_SSLCERT, certificate) }
        if let key = trust.key { _ = curl_set_text(easy, CURLOPT_SSLKEY, key) }
    }
}
