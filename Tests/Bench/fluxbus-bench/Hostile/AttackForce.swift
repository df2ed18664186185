import BusSystem
import CLinux
import Glibc
import Synchronization

/// All hostile connections of an attack, on one thread with one epoll: bytes made ahead of time, sockets that never
/// block, so that the attackers take as little of the machine from the bus as they can.
final class AttackForce {
    /// The result.
    struct Tally: Sendable {
        var bytes = 0
        var connections = 0
        /// Connections that the bus closed.
        var cutOff = 0
        var lines = 0
        /// Replies that were looked at, one of each piece that came, and how many of them were refusals.
        var replies = 0
        var refusals = 0
        /// The beginning of the first refusal, to see whether an attack does what it should.
        var firstRefusal: String?
    }

    /// Between two attempts to reconnect after the bus has closed a connection, or accepts none.
    private static let comeBackPause: UInt64 = 10_000_000
    /// Between two moments at which all connections close together.
    private static let togetherPause: UInt64 = 500_000_000
    /// Moved on one connection before others have their turn.
    private static let bytesPerTurn = 256 << 10

    private var links: [AttackLink]
    private let place: AttackPlace
    private let epoll: Int32
    private let space = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 64)
    private var tally = Tally()
    private var pieces = 0
    private var wentTogether: UInt64 = 0

    init(_ scripts: [AttackScript], at place: AttackPlace) {
        links = scripts.map(AttackLink.init)
        self.place = place
        epoll = linux_epoll_create()
    }

    deinit {
        for link in links where link.descriptor >= 0 { close(link.descriptor) }
        close(epoll)
        space.deallocate()
    }

    /// Attacks until it is stopped, and closes all connections.
    func run(until stop: StopFlag) -> Tally {
        var events = [linux_epoll_event](repeating: linux_epoll_event(), count: 512)
        while !stop.isSet {
            let now = nanoseconds()
            for index in links.indices { move(index, now) }
            goTogether(now)
            let ready = linux_epoll_wait(epoll, &events, Int32(events.count), 1)
            for position in 0..<max(0, Int(ready)) {
                serve(Int(linux_epoll_token(&events[position])), linux_epoll_events(&events[position]))
            }
        }
        for index in links.indices { leave(index, until: .max) }
        return tally
    }

    /// Does what is due by time alone.
    private func move(_ index: Int, _ now: UInt64) {
        if links[index].descriptor < 0 {
            if now >= links[index].comesBackAt { join(index, now) }
        } else if links[index].isPaced, links[index].rest.isEmpty, now >= links[index].nextPieceAt {
            links[index].nextPieceAt = max(links[index].nextPieceAt + links[index].interval, now)
            takePiece(index)
            write(index)
        }
    }

    // MARK: - Coming and going

    private func join(_ index: Int, _ now: UInt64) {
        guard let descriptor = place.connect(secure: links[index].script.isSecure) else {
            links[index].comesBackAt = now + Self.comeBackPause
            return
        }
        links[index].begin(descriptor, number: tally.connections, now: now)
        tally.connections += 1
        linux_epoll_add(epoll, descriptor, links[index].interest, UInt64(index))
    }

    private func leave(_ index: Int, until time: UInt64 = 0) {
        guard links[index].descriptor >= 0 else { return }
        close(links[index].descriptor)
        links[index].descriptor = -1
        links[index].comesBackAt = time
    }

    /// Connections that close together do so once the last of them has what it waits for.
    private func goTogether(_ now: UInt64) {
        guard now >= wentTogether + Self.togetherPause, links.contains(where: \.goesTogether) else { return }
        guard links.allSatisfy({ !$0.goesTogether || $0.isSatisfied }) else { return }
        for index in links.indices where links[index].goesTogether { leave(index) }
        wentTogether = now
    }

    // MARK: - One connection

    private func serve(_ index: Int, _ events: UInt32) {
        guard links[index].descriptor >= 0 else { return }
        if events & linux_epoll_out != 0 { write(index) }
        if events & (linux_epoll_hup | linux_epoll_err) != 0, !links[index].script.reads {
            return lose(index)
        }
        if events & (linux_epoll_in | linux_epoll_hup | linux_epoll_err) != 0 { read(index) }
    }

    private func lose(_ index: Int) {
        tally.cutOff += 1
        leave(index, until: nanoseconds() + Self.comeBackPause)
    }

    private func takePiece(_ index: Int) {
        guard let piece = links[index].script.piece else { return }
        links[index].rest = piece(AttackScript.Turn(number: pieces, own: links[index].pieces))[...]
        links[index].pieces += 1
        pieces += 1
    }

    private func write(_ index: Int) {
        guard links[index].descriptor >= 0 else { return }
        var left = Self.bytesPerTurn
        while left > 0 {
            if links[index].rest.isEmpty, links[index].wantsPiece { takePiece(index) }
            guard !links[index].rest.isEmpty else { break }
            let count = links[index].rest.withUnsafeBytes {
                send(links[index].descriptor, $0.baseAddress, min($0.count, left), linux_no_signal)
            }
            if count < 0 {
                if errno == EAGAIN || errno == EINTR { break }
                return lose(index)
            }
            links[index].rest.removeFirst(count)
            left -= count
            tally.bytes += count
        }
        if case .whenSent = links[index].script.leaving, !links[index].hasMore { return leave(index) }
        let interest = links[index].interest
        guard interest != links[index].asked else { return }
        links[index].asked = interest
        linux_epoll_modify(epoll, links[index].descriptor, interest, UInt64(index))
    }

    private func read(_ index: Int) {
        var left = Self.bytesPerTurn
        while left > 0 {
            let count = recv(links[index].descriptor, space.baseAddress, space.count, 0)
            if count < 0 {
                if errno == EAGAIN || errno == EINTR { return }
                return lose(index)
            }
            if count == 0 { return lose(index) }
            let bytes = UnsafeRawBufferPointer(rebasing: space[..<count])
            let lines = newlineCount(bytes)
            tally.lines += lines
            links[index].lines += lines
            tally.look(at: bytes)
            switch links[index].script.leaving {
            case .whenHeard: return leave(index)
            case .whenAnswered where links[index].isSatisfied: return leave(index)
            default: break
            }
            left -= count
            if count < space.count { break }
        }
        if case .afterAnswers = links[index].script.pace { write(index) }
    }
}

/// Where a daemon listens for those who attack it.
struct AttackPlace: Sendable {
    let socket: String
    /// On this machine, for TLS.
    let port: UInt16?

    /// A connection that is made, or being made; nil where none can be.
    func connect(secure: Bool) -> Int32? {
        let descriptor = linux_stream_socket(secure ? AF_INET : AF_UNIX, 1)
        let result: Int32
        if secure {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = (port ?? 0).bigEndian
            address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
            result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        } else {
            result = UnixAddress(socket).connect(descriptor)
        }
        if result == 0 || secure && errno == EINPROGRESS { return descriptor }
        close(descriptor)
        return nil
    }
}

/// Signals threads to end.
final class StopFlag: Sendable {
    private let flag = Atomic<Bool>(false)

    var isSet: Bool { flag.load(ordering: .acquiring) }
    func set() { flag.store(true, ordering: .releasing) }
}

extension AttackForce.Tally {
    private static let reply = Array(#""ok":"#.utf8)
    private static let refusal = Array(#""ok":false"#.utf8)
    /// How much of the received bytes is searched, and how much of a match is shown.
    private static let looked = 512
    private static let shown = 160

    /// Searches the beginning of the received bytes for a reply, and checks whether it is a refusal.
    mutating func look(at bytes: UnsafeRawBufferPointer) {
        let start = bytes.prefix(Self.looked)
        guard Self.place(of: Self.reply, in: start) != nil else { return }
        replies += 1
        guard let place = Self.place(of: Self.refusal, in: start) else { return }
        refusals += 1
        if firstRefusal == nil {
            let line = start[place...].prefix { $0 != UInt8(ascii: "\n") }
            firstRefusal = String(decoding: line.prefix(Self.shown), as: UTF8.self)
        }
    }

    private static func place(of mark: [UInt8], in bytes: Slice<UnsafeRawBufferPointer>) -> Int? {
        bytes.indices.first { bytes[$0...].starts(with: mark) }
    }
}
