#if canImport(Glibc)
    import BusJSON
    internal import BusMap
    internal import CMap
    import Glibc

    /// The states of all stores of a type as files of the daemon's memory have them, read without asking: no system call and no wait,
    /// however many read.
    ///
    /// ```swift
    /// let map = try StateMap("counter")
    /// if let (state, revision) = try map.state(of: "kitchen") { … }
    /// ```
    ///
    /// It has what is durable: a reply that this process has got leaves the daemon after the map has what it tells of. Reading is
    /// allowed on any thread at once. A map ends when its type outgrows it, when access rules or the type's definition change, and
    /// with the daemon; reads then throw `closed`, and another one can be opened.
    public final class StateMap: @unchecked Sendable {
        // Nothing of it changes until it is let go, and what it points to is read with the memory orders of the layout.
        private let map: fluxbus_map
        public let type: String

        /// Opens the map of a type over a separate connection. Blocks until the daemon has answered.
        ///
        /// Without an address, it uses that of ``Bus/connect(_:options:)-(BusAddress?,_)``. Only a Unix socket can pass a map.
        ///
        /// Throws `unreachable`, `unavailable` if the address is not that of a Unix socket, and the errors of the op `map`.
        public init(_ type: String, at address: BusAddress? = nil) throws(BusError) {
            self.type = type
            let wanted: BusAddress
            if let address {
                wanted = address
            } else {
                wanted = try BusAddress.resolve(environment: Bus.environment)
            }
            guard case .unix(let path) = wanted else {
                throw BusError(
                    .unavailable, "\(wanted) brings no maps; connect to the bus's Unix socket, or use `get`.")
            }
            // One that ends just then is asked for again.
            var attempt = 0
            while true {
                attempt += 1
                var opened = fluxbus_map()
                var answer = [CChar](repeating: 0, count: 4096)
                if fluxbus_map_open(&opened, path, type, &answer, answer.count) == 0 {
                    map = opened
                    return
                }
                let code = errno
                let line = answer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
                if code == EAGAIN, attempt < 10 { continue }
                guard line.isEmpty else { throw BusError(reply: (try? JSON(parsing: line))?["error"]) }
                throw BusError(
                    .unreachable,
                    "No map of \(type) came from \(wanted) (\(String(cString: strerror(code)))); look whether the bus runs."
                )
            }
        }

        deinit {
            var map = map
            fluxbus_map_close(&map)
        }

        /// Whether the daemon that keeps it is still there: a system call, for once in a while. One that was killed can't say so in
        /// the map.
        public var isKept: Bool { withUnsafePointer(to: map) { fluxbus_map_is_kept($0) } == 1 }

        /// The state of a store, and the revision of the commit that made it so; nil: there is no such store.
        public func state(of store: String) throws(BusError) -> (state: JSONObject, revision: Int)? {
            var bytes = [UInt8](repeating: 0, count: 1024)
            while true {
                guard let (length, revision) = try read(store, into: &bytes) else { return nil }
                guard length <= bytes.count else {
                    bytes = [UInt8](repeating: 0, count: length)
                    continue
                }
                guard let state = (try? JSON(parsing: Array(bytes.prefix(length))))?.object else {
                    throw BusError(.unexpectedReply, "The map of \(type) has a state that is no object.")
                }
                return (state, revision)
            }
        }

        /// Copies the state of a store as JSON. Returns its length, which may be more than there is room for (then nothing is copied),
        /// and its revision; nil: there is no such store.
        public func read(_ store: String, into bytes: inout [UInt8]) throws(BusError) -> (
            length: Int, revision: Int
        )? {
            var store = store
            let answer = bytes.withUnsafeMutableBytes { bytes in
                store.withUTF8 { MapReader.read(UnsafeRawBufferPointer($0), in: map.view, into: bytes) }
            }
            switch answer {
            case .state(let length, let revision): return (length, Int(truncatingIfNeeded: revision))
            case .long(let length): return (length, 0)
            case .none: return nil
            case .moved, .ended: throw BusError(.closed, "This map of \(type) has ended; open another one.")
            case .busy:
                throw BusError(.unavailable, "\(type)/\(store) changes too fast to be read; try again.")
            case .damaged:
                throw BusError(.unexpectedReply, "The map of \(type) is damaged; open another one.")
            }
        }
    }
#endif
