#if canImport(Glibc)
    import BusJSON
    import Glibc

    /// One blocking connection to a bus: lines out, lines in, in order.
    ///
    /// Requests may be pipelined: queue as many as wanted, then take the replies, which come in request order. Events
    /// arrive between them; `request` keeps those it meets for the next `receiveLine`. Nothing here reconnects. A
    /// connection belongs to one thread.
    ///
    /// While bytes wait to be sent, incoming bytes are read too, because a bus whose outbox for this connection is
    /// full reads nothing more from it.
    public final class BusConnection {
        public let address: BusAddress

        /// The longest line accepted from a bus. A daemon splits its events at 1 MiB by default; a peer that
        /// sends more than this is no bus.
        static let longestLine = 256 << 20

        /// The reply to the `hello` that opened the connection, where one did.
        public private(set) var greeting: JSONObject?

        private let stream: SocketStream
        private var incoming = LineBuffer()
        /// Events that came before an awaited reply, oldest first.
        private var held: [[UInt8]] = []
        /// The bytes to be sent; whole lines may be appended.
        let outgoing = ByteWriter(capacity: 4096)
        /// How much of `outgoing` has been sent.
        private var sent = 0
        /// How many bytes have been sent in all.
        private(set) var totalSent = 0
        private var hasEnded = false
        private var nextID = 1
        /// Answers to requests up to this one are skipped.
        private var lastGivenUp = 0

        /// Connects, and over TCP sends a hello with `token`, which a bus there demands as the first line, unless it knows the
        /// certificate of `tls`.
        ///
        /// Throws `unreachable`, `forbidden` (the socket's mode), `untrusted`, `timedOut`, or the bus's answer to token or
        /// certificate.
        public convenience init(
            to address: BusAddress, token: String? = nil, client: String? = nil,
            tls: TLSOptions = TLSOptions(),
            until deadline: Deadline = .never
        ) throws(BusError) {
            try self.init(to: [address], token: token, client: client, tls: tls, until: deadline)
        }

        /// Connects to the first of several addresses at which a bus answers a hello. Each has its share of the time; one that
        /// accepts connections and says nothing does not hold up the others.
        public convenience init(
            to addresses: [BusAddress], token: String? = nil, client: String? = nil,
            tls: TLSOptions = TLSOptions(), until deadline: Deadline = .never
        ) throws(BusError) {
            let opened = try Self.first(of: addresses, ConnectWait(until: deadline)) {
                address, wait throws(BusError) in
                guard !address.isRemote || token != nil || address.takesCertificate(of: tls) else {
                    throw BusError(.unauthorized, "The bus at \(address) asks for a token.")
                }
                let opened = BusConnection(address, try SocketStream.connect(to: address, tls, wait))
                if address.isRemote || addresses.count > 1 {
                    opened.greeting = try opened.hello(token: token, client: client, until: wait.deadline)
                }
                return opened
            }
            self.init(opened.address, opened.stream)
            // What else has come with the greeting, a goodbye for example, is kept.
            (greeting, incoming, held) = (opened.greeting, opened.incoming, opened.held)
            (totalSent, nextID) = (opened.totalSent, opened.nextID)
        }

        /// Only connects: the caller sends `hello` as one of its requests.
        convenience init(
            opening addresses: [BusAddress], _ tls: TLSOptions, _ wait: ConnectWait
        ) throws(BusError) {
            let (address, stream) = try Self.first(of: addresses, wait) { address, wait throws(BusError) in
                (address, try SocketStream.connect(to: address, tls, wait))
            }
            self.init(address, stream)
        }

        private init(_ address: BusAddress, _ stream: SocketStream) {
            self.address = address
            self.stream = stream
        }

        /// What `open` makes of the first address for which it does not fail.
        private static func first<Opened>(
            of addresses: [BusAddress], _ wait: ConnectWait,
            _ open: (BusAddress, ConnectWait) throws(BusError) -> Opened
        ) throws(BusError) -> Opened {
            var failures: [BusError] = []
            for (number, address) in addresses.enumerated() {
                if number > 0, wait.isOver { break }
                do throws(BusError) {
                    return try open(address, wait.share(of: addresses.count - number))
                } catch {
                    failures.append(error)
                }
            }
            guard let last = failures.last else {
                throw BusError(.invalidAddress, "There is no address to connect to; give one.")
            }
            if failures.count == 1 { throw last }
            // One that can be reached says more than one that can't.
            let telling = failures.first { $0.code != .unreachable && $0.code != .timedOut } ?? last
            throw BusError(
                telling.code, failures.map(\.message).joined(separator: " "), details: telling.details)
        }

        /// Connects without a hello, for a caller that forwards another client's lines, the first of which is its hello.
        package convenience init(
            opening address: BusAddress, tls: TLSOptions, until deadline: Deadline
        ) throws(BusError) {
            try self.init(opening: [address], tls, ConnectWait(until: deadline))
        }

        /// Sends a hello, in the name of a client at another address where `via` says one; the reply has `server`, `version`, `epoch`, `revision`, `identity` and `limits`.
        @discardableResult
        public func hello(
            token: String? = nil, client: String? = nil, via: String? = nil, until deadline: Deadline = .never
        ) throws(BusError) -> JSONObject {
            let members: KeyValuePairs<String, JSON?> = [
                "protocol": 1, "client": client.map(JSON.string), "via": via.map(JSON.string),
                "token": token.map(JSON.string),
            ]
            return try request(BusRequest("hello", members), until: deadline)
        }

        /// The socket, for callers that move bytes themselves once every request here has been answered.
        package var descriptor: Int32 { stream.descriptor }

        /// For these callers, where the bytes of the socket are not those of the lines: writes what fits.
        package func write(plain bytes: UnsafeRawBufferPointer) throws(BusError) -> Int {
            try stream.write(bytes)
        }

        /// Whether what was written waits for room in the socket.
        package var awaitsRoom: Bool { stream.hasUnsentOutput }

        /// Passes what has come; false at the end.
        package func read(plain body: (UnsafeRawBufferPointer) -> Void) throws(BusError) -> Bool {
            try stream.flush()
            var buffer = LineBuffer()
            if try stream.read(into: &buffer) == .end { return false }
            buffer.takeAll(body)
            return true
        }

        // MARK: - Whole exchanges

        /// Sends one request and waits for its reply. Throws the error the reply holds.
        @discardableResult
        public func request(
            _ request: BusRequest, until deadline: Deadline = .never
        ) throws(BusError) -> JSONObject {
            let id = queue(request)
            do throws(BusError) {
                return try answer(to: id, until: deadline)
            } catch {
                // Where it was only late, it would be taken for the answer to the next request.
                lastGivenUp = id
                throw error
            }
        }

        private func answer(to id: Int, until deadline: Deadline) throws(BusError) -> JSONObject {
            try flush(until: deadline)
            var ending: BusError?
            while true {
                let line: [UInt8]
                do throws(BusError) {
                    line = try nextLine(until: deadline)
                } catch {
                    throw error.code == .closed ? ending ?? error : error
                }
                switch try BusMessage(parsing: line) {
                case .event("goodbye", let event): ending = BusMessage.goodbye(event)
                case .event: held.append(line)
                case .reply(let reply):
                    if let id = reply["id"]?.int, id <= lastGivenUp { continue }
                    guard reply["ok"]?.bool == true else { throw BusError(reply: reply["error"]) }
                    guard reply["id"] == .int(id) else {
                        throw BusError(.unexpectedReply, "A reply came that belongs to another request.")
                    }
                    return reply
                }
            }
        }

        // MARK: - Lines

        /// Appends a request to the bytes to be sent, and returns its `id`.
        @discardableResult
        public func queue(_ request: BusRequest) -> Int {
            let id = nextID
            nextID += 1
            request.write(to: outgoing, id: id)
            return id
        }

        /// Appends a line, given without its end, to the bytes to be sent.
        public func queue(line: UnsafeRawBufferPointer) {
            outgoing.append(line)
            outgoing.append(UInt8(ascii: "\n"))
        }

        /// How many queued bytes have not been sent yet.
        public var unsentBytes: Int { outgoing.count - sent }

        /// Whether anything waits for room in the socket, queued or encrypted.
        private var hasUnsent: Bool { unsentBytes > 0 || stream.hasUnsentOutput }

        /// Sends everything queued, and reads incoming bytes meanwhile. When the bus has closed the connection it throws
        /// `closed`, unless lines of it wait to be taken: then these come first.
        public func flush(until deadline: Deadline = .never) throws(BusError) {
            let goal = totalSent + unsentBytes
            try sendSome()
            while hasUnsent {
                let ready = stream.wait(for: Int16(POLLIN | POLLOUT), until: deadline)
                if ready == 0 { throw Self.timedOut }
                if ready & Int16(POLLIN | POLLHUP | POLLERR) != 0 { try readSome() }
                if hasEnded { throw Self.ended }
                try sendSome()
            }
            if totalSent < goal, !incoming.hasLine { throw Self.ended }
        }

        /// The next line, reply or event, awaited. Throws `timedOut`, or `closed` at the end.
        public func receiveLine(until deadline: Deadline = .never) throws(BusError) -> [UInt8] {
            held.isEmpty ? try nextLine(until: deadline) : held.removeFirst()
        }

        /// The next line if one has arrived already.
        public func receiveLineIfReady() -> [UInt8]? {
            held.isEmpty ? incoming.next() : held.removeFirst()
        }

        /// Passes the next line if one has arrived already, without copying it; false if none has. Not to be mixed with the
        /// forms above while events are held.
        func takeLineIfReady(_ body: (UnsafeRawBufferPointer) -> Void) -> Bool { incoming.takeNext(body) }

        /// Ends sending; requests sent before are still answered.
        public func finishSending() { stream.finishWriting() }

        private func nextLine(until deadline: Deadline) throws(BusError) -> [UInt8] {
            while true {
                if let line = incoming.next() { return line }
                if hasEnded { throw Self.ended }
                if stream.wait(for: Int16(POLLIN), until: deadline) == 0 { throw Self.timedOut }
                try readSome()
            }
        }

        // MARK: - Several descriptors at once

        /// The result of a wait. Several may be true; none is when the deadline passed.
        public struct Wakeup: Sendable {
            /// Bytes came from the bus, or its end.
            public var incoming = false
            /// `input` can be read, or has ended.
            public var input = false
            /// The reader of `output` has closed it.
            public var outputClosed = false
        }

        /// Sends what can be sent and waits until something arrives, `input` can be read, or the reader of `output` has
        /// closed it. Throws `closed` when the bus has ended the connection and every line was taken.
        public func wait(
            input: Int32? = nil, output: Int32? = nil, until deadline: Deadline = .never
        ) throws(BusError) -> Wakeup {
            try sendSome()
            if hasEnded {
                guard incoming.hasLine else { throw Self.ended }
                return Wakeup(incoming: true)
            }
            let wanted = Int16(hasUnsent ? POLLIN | POLLOUT : POLLIN)
            // A negative descriptor is skipped; one without requested events still reports its end.
            var entries = [
                pollfd(fd: stream.descriptor, events: wanted, revents: 0),
                pollfd(fd: input ?? -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: output ?? -1, events: 0, revents: 0),
            ]
            var ready: Int32 = 0
            repeat {
                ready = poll(&entries, nfds_t(entries.count), deadline.pollTimeout)
            } while ready < 0 || (ready == 0 && !deadline.hasPassed)
            var wakeup = Wakeup()
            if entries[0].revents & Int16(POLLIN | POLLHUP | POLLERR) != 0 {
                try readSome()
                if hasEnded, !incoming.hasLine { throw Self.ended }
                wakeup.incoming = true
            }
            try sendSome()
            wakeup.input = entries[1].revents != 0
            wakeup.outputClosed = entries[2].revents & Int16(POLLERR | POLLNVAL | POLLHUP) != 0
            return wakeup
        }

        private func sendSome() throws(BusError) {
            while hasUnsent {
                let count: Int
                do throws(BusError) {
                    if unsentBytes == 0 { return try stream.flush() }
                    count = try stream.write(UnsafeRawBufferPointer(rebasing: outgoing.bytes[sent...]))
                } catch {
                    return try readLast()
                }
                if count == 0 { return }
                sent += count
                totalSent += count
            }
            outgoing.clear()
            sent = 0
        }

        /// Nothing can be sent any more, because the peer has closed the connection. Its earlier answers and
        /// its reason can still be read.
        private func readLast() throws(BusError) {
            while !hasEnded, try stream.read(into: &incoming) == .bytes, incoming.count <= Self.longestLine {}
            hasEnded = true
            outgoing.clear()
            sent = 0
        }

        private func readSome() throws(BusError) {
            guard !hasEnded else { return }
            if try stream.read(into: &incoming) == .end { hasEnded = true }
            if incoming.count > Self.longestLine, !incoming.hasLine {
                throw BusError(
                    .unexpectedReply, "A line longer than \(Self.longestLine) bytes came: no bus sends that.")
            }
        }

        private static let timedOut = BusError(.timedOut, "The bus did not answer in the time allowed.")
        private static let ended = BusError(.closed, "The bus ended the connection.")
    }
#endif
