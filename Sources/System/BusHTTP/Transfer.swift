import CCurl
import Glibc

/// One request on its way, with what has come of its answer.
package final class Transfer {
    package enum Outcome {
        /// The whole answer, with the status of HTTP, and after how many seconds the server wants to be asked again; 0: it does
        /// not say.
        case answered(status: Int, body: [UInt8], retryAfter: Int)
        case failed(HTTPFailure)
    }

    /// What becomes of bytes that come in.
    package enum Reception {
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
    package internal(set) var isPaused = false
    /// Bytes of the longest answer.
    private let most: Int
    private var headers: UnsafeMutablePointer<curl_slist>?

    /// Where libcurl says in words what went wrong.
    private let words = UnsafeMutableBufferPointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    init(_ easy: UnsafeMutableRawPointer, most: Int) {
        self.easy = easy
        self.most = most
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
        guard said.isEmpty else { return said }
        // So libcurl says that a line is too long for it; since 8.6 by `CURLE_TOO_LARGE`.
        if code == CURLE_OUT_OF_MEMORY || code == CURLcode(100) {
            return "A line of the answer's header is too long"
        }
        return String(cString: curl_easy_strerror(code))
    }

    /// Before it starts; kept as long as the transfer.
    func setHeaders(_ lines: [String]) {
        for line in lines { headers = curl_slist_append(headers, line) }
        _ = curl_set_headers(easy, headers)
    }

    var status: Int { curl_number(easy, CURLINFO_RESPONSE_CODE) }

    /// After how many seconds the server wants to be asked again, where a header says that, or a date; else 0.
    var retryAfter: Int { max(0, Int(curl_size(easy, CURLINFO_RETRY_AFTER))) }

    func take(_ bytes: UnsafeRawBufferPointer) -> Reception {
        if let receive, status == 200 {
            let reception = receive(bytes)
            if reception == .later { isPaused = true }
            return reception
        }
        guard body.count + bytes.count <= most else { return .enough }
        body += bytes
        return .taken
    }
}
