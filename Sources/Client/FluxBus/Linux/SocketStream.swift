#if canImport(Glibc)
    internal import BusSystem
    internal import BusTLS
    internal import CLinux
    import Glibc

    /// A connected stream socket: the one place of this library for system calls. With TLS, the bytes given and taken here are
    /// plain, and those of the socket are not.
    ///
    /// The descriptor never blocks; waiting is `poll` with a deadline. EINTR is retried, EAGAIN is a value, and a
    /// write to a closed peer is an error, not a signal.
    final class SocketStream {
        enum ReadOutcome {
            case bytes
            case nothingYet
            case end
        }

        let descriptor: Int32

        /// The destination of a read, before its length is known.
        private let space = UnsafeMutableRawBufferPointer.allocate(byteCount: 131_072, alignment: 16)

        /// With TLS: the session, what failures of it mean, and the destination of what it decrypts.
        private var secure: (session: TLSSession, opening: SecureOpening)?
        private static let longestPlain = 65_536

        private init(descriptor: Int32) { self.descriptor = descriptor }

        deinit {
            if let secure {
                secure.session.finish()
                _ = try? flush()
            }
            close(descriptor)
            space.deallocate()
        }

        /// Connects, trying each address of a host in turn; with TLS, up to the end of the handshake. One that does not answer has its
        /// share of the time.
        static func connect(
            to address: BusAddress, _ tls: TLSOptions, _ wait: ConnectWait
        ) throws(BusError) -> SocketStream {
            var secure: (host: String, opening: SecureOpening)?
            if case .tls(let host, _) = address {
                secure = (host, SecureOpening(address: address, options: tls))
            }
            var failure = BusError(.unreachable, "No bus answers at \(address) (no address).")
            let endpoints = try SocketEndpoint.all(of: address, wait)
            for (number, endpoint) in endpoints.enumerated() {
                let share = wait.share(of: endpoints.count - number)
                do throws(BusError) {
                    let session: TLSSession? =
                        if let (host, opening) = secure { try opening.session(for: host) } else { nil }
                    let stream = try connect(to: endpoint, of: address, share)
                    if let session, let opening = secure?.opening {
                        try stream.shakeHands(session, opening, share)
                    }
                    return stream
                } catch {
                    // What one refuses, others of the same name would.
                    guard error.code == .unreachable else { throw error }
                    failure = error
                }
            }
            throw failure
        }

        private static func connect(
            to endpoint: SocketEndpoint, of address: BusAddress, _ wait: ConnectWait
        ) throws(BusError) -> SocketStream {
            let descriptor = linux_stream_socket(endpoint.family, 1)
            guard descriptor >= 0 else {
                throw BusError(.unreachable, "No socket can be opened: \(systemReason(errno)).")
            }
            let stream = SocketStream(descriptor: descriptor)
            switch stream.connect(to: endpoint, wait) {
            case 0:
                if endpoint.family != AF_UNIX { TCPSocket.prepare(descriptor) }
                return stream
            case EACCES, EPERM:
                throw BusError(.forbidden, "This user may not connect to the bus at \(address).")
            case let failure:
                throw BusError(.unreachable, "No bus answers at \(address) (\(systemReason(failure))).")
            }
        }

        /// Returns 0 or the `errno` of the failure.
        private func connect(to endpoint: SocketEndpoint, _ wait: ConnectWait) -> Int32 {
            while true {
                if endpoint.withAddress({ sockaddr, length in systemConnect(descriptor, sockaddr, length) })
                    == 0
                {
                    return 0
                }
                switch errno {
                case EINTR: continue
                case EISCONN: return 0
                case EAGAIN:
                    // A Unix listener whose queue is full; there is no event to wait for.
                    if case .over = wait.pause(for: -1, 0) { return ETIMEDOUT }
                case EINPROGRESS, EALREADY:
                    var outcome = ConnectWait.Outcome.again
                    while case .again = outcome { outcome = wait.pause(for: descriptor, Int16(POLLOUT)) }
                    guard case .ready = outcome else { return ETIMEDOUT }
                    var failure: Int32 = 0
                    var length = socklen_t(MemoryLayout<Int32>.size)
                    getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &failure, &length)
                    return failure
                default: return errno
                }
            }
        }

        private func shakeHands(
            _ session: TLSSession, _ opening: SecureOpening, _ wait: ConnectWait
        ) throws(BusError) {
            secure = (session, opening)
            while true {
                let isDone: Bool
                do throws(TLSFailure) {
                    isDone = try session.shakeHands()
                } catch {
                    try flush()
                    throw opening.error(error)
                }
                try flush()
                if isDone, !session.hasOutput { return }
                let events = session.hasOutput ? POLLOUT : POLLIN
                if case .over = wait.pause(for: descriptor, Int16(events)) {
                    throw BusError(
                        .unreachable, "The bus at \(opening.address) did not complete the handshake in time.")
                }
                if !isDone, try receive() == .end {
                    throw opening.error(TLSFailure(.refused, "it ended the connection"))
                }
            }
        }

        /// Whether encrypted bytes wait for room in the socket.
        var hasUnsentOutput: Bool { secure?.session.hasOutput ?? false }

        /// Sends encrypted bytes, as far as they fit.
        func flush() throws(BusError) {
            guard let session = secure?.session else { return }
            while session.hasOutput {
                let count = try writePlain(session.output)
                if count == 0 { return }
                session.sent(count)
            }
        }

        /// Writes what fits; 0 when the socket accepts nothing now.
        func write(_ bytes: UnsafeRawBufferPointer) throws(BusError) -> Int {
            guard let (session, opening) = secure else { return try writePlain(bytes) }
            try flush()
            if session.hasOutput { return 0 }
            let piece = UnsafeRawBufferPointer(rebasing: bytes.prefix(TLSSession.record))
            do throws(TLSFailure) {
                try session.write(piece)
            } catch {
                throw opening.error(error)
            }
            try flush()
            return piece.count
        }

        private func writePlain(_ bytes: UnsafeRawBufferPointer) throws(BusError) -> Int {
            while true {
                let sent = send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
                if sent >= 0 { return sent }
                switch errno {
                case EINTR: continue
                case EAGAIN: return 0
                default: throw BusError(.closed, "The bus ended the connection (\(systemReason(errno))).")
                }
            }
        }

        /// Reads available bytes into `buffer`.
        func read(into buffer: inout LineBuffer) throws(BusError) -> ReadOutcome {
            guard let (session, opening) = secure else { return try readPlain(into: &buffer) }
            // The end counts after what came before it.
            let received = try receive()
            do throws(TLSFailure) {
                return try decrypt(session, into: &buffer) ?? received
            } catch {
                try flush()
                throw opening.error(error)
            }
        }

        /// Nil: there is nothing but what may come.
        private func decrypt(
            _ session: TLSSession, into buffer: inout LineBuffer
        ) throws(TLSFailure) -> ReadOutcome? {
            var outcome: ReadOutcome?
            let plain = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.longestPlain, alignment: 16)
            defer { plain.deallocate() }
            while true {
                switch try session.read(into: plain) {
                case .bytes(let count):
                    buffer.append(UnsafeRawBufferPointer(rebasing: plain[..<count]))
                    outcome = .bytes
                case .end: return outcome ?? .end
                case .nothingYet: return outcome
                }
            }
        }

        /// Takes bytes of TLS from the socket.
        private func receive() throws(BusError) -> ReadOutcome {
            guard let count = try take() else { return .nothingYet }
            if count == 0 { return .end }
            secure?.session.receive(UnsafeRawBufferPointer(rebasing: space[..<count]))
            return .nothingYet
        }

        private func readPlain(into buffer: inout LineBuffer) throws(BusError) -> ReadOutcome {
            guard let count = try take() else { return .nothingYet }
            if count == 0 { return .end }
            buffer.append(UnsafeRawBufferPointer(rebasing: space[..<count]))
            return .bytes
        }

        /// How many bytes came into `space`: 0 at the end, nil while there are none.
        private func take() throws(BusError) -> Int? {
            while true {
                let count = recv(descriptor, space.baseAddress, space.count, 0)
                if count >= 0 { return count }
                switch errno {
                case EINTR: continue
                case EAGAIN: return nil
                case ECONNRESET: return 0
                default: throw BusError(.closed, "The bus ended the connection (\(systemReason(errno))).")
                }
            }
        }

        /// Ends sending; what was sent before is still answered.
        func finishWriting() {
            guard let session = secure?.session else {
                shutdown(descriptor, Int32(SHUT_WR))
                return
            }
            session.finish()
            _ = try? flush()
        }

        /// Waits for `events`; returns those that came, 0 when the deadline passed.
        func wait(for events: Int16, until deadline: Deadline) -> Int16 {
            var entry = pollfd(fd: descriptor, events: events, revents: 0)
            while true {
                let ready = poll(&entry, 1, deadline.pollTimeout)
                if ready > 0 { return entry.revents }
                if ready == 0, deadline.hasPassed { return 0 }
            }
        }
    }

    /// `connect` of the C library, which a method of that name hides.
    private func systemConnect(
        _ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t
    ) -> Int32 {
        connect(descriptor, address, length)
    }
#endif
