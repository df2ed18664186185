import CSystemd
import Glibc
import Systemd
import Testing

/// Passed descriptors, bundles and sealed files, without a manager.
@Suite struct DescriptorTests {
    /// Descriptors in a row, as the manager passes them, far above those that this process uses.
    private func withPassed(
        _ sources: [Int32], at first: Int32, _ body: (Int32) throws -> Void
    ) rethrows {
        for (index, source) in sources.enumerated() {
            dup2(source, first + Int32(index))
            close(source)
        }
        defer { for index in sources.indices { close(first + Int32(index)) } }
        try body(first)
    }

    private func listener(_ family: Int32) -> Int32 {
        let descriptor = socket(family, Int32(systemd_stream) | systemd_close_on_exec, 0)
        // Unix: the kernel draws a name; TCP: a port.
        var address = sockaddr(
            sa_family: sa_family_t(family), sa_data: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        let length = family == AF_UNIX ? MemoryLayout<sa_family_t>.size : MemoryLayout<sockaddr>.size
        bind(descriptor, &address, socklen_t(length))
        listen(descriptor, 1)
        return descriptor
    }

    private func environment(_ count: Int, _ names: String?, process: Int32 = getpid()) -> ServiceEnvironment
    {
        var variables = ["LISTEN_PID": String(process), "LISTEN_FDS": String(count)]
        variables["LISTEN_FDNAMES"] = names
        return ServiceEnvironment(variables: variables)
    }

    @Test func passedSocketsComeByNameAndKind() throws {
        try withPassed([listener(AF_UNIX), listener(AF_INET), listener(AF_UNIX)], at: 900) { first in
            var passed = try ListenDescriptors(environment(3, "bus:bus:other"), first: first)
            #expect(passed.remaining.map(\.name) == ["bus", "bus", "other"])
            #expect(fcntl(first, F_GETFD) & FD_CLOEXEC != 0)

            let error = #expect(throws: SystemdError.self) {
                try passed.take(named: "bus", as: .unixListener)
            }
            #expect(error?.code == .descriptor)
            // A refusal takes nothing.
            #expect(passed.remaining.count == 3)
            #expect(try passed.take(named: "bus", as: .streamListener) == [first, first + 1])
            #expect(try passed.take(named: "bus", as: .streamListener) == [])
            #expect(passed.take(named: "other") == [PassedDescriptor(descriptor: first + 2, name: "other")])
            #expect(passed.remaining.isEmpty)
            #expect(try SocketKind.tcpListener.matches(first + 1))
            #expect(try !SocketKind.streamConnection.matches(first))
        }
    }

    @Test func descriptorsForSomebodyElseAreLeftAlone() throws {
        #expect(try ListenDescriptors(environment(2, "a:b", process: 1)).remaining.isEmpty)
        #expect(try ListenDescriptors(ServiceEnvironment(variables: [:])).remaining.isEmpty)
    }

    @Test func whatNoManagerWritesIsRefused() throws {
        let wrong = [
            environment(1, "a:b"), environment(2, "a"),
            ServiceEnvironment(variables: ["LISTEN_FDS": "many"]),
            ServiceEnvironment(variables: ["LISTEN_FDS": "1", "LISTEN_PID": "-1"]),
            ServiceEnvironment(variables: ["LISTEN_FDS": "99999999999"]),
        ]
        for environment in wrong {
            let error = #expect(throws: SystemdError.self) { try ListenDescriptors(environment) }
            #expect(error?.code == .environment)
        }
        // Promised, but not there.
        let error = #expect(throws: SystemdError.self) {
            try ListenDescriptors(environment(1, "a"), first: 999)
        }
        #expect(error?.systemCode == EBADF)
    }

    @Test func unnamedDescriptorsAreUnknown() throws {
        try withPassed([listener(AF_UNIX)], at: 950) { first in
            let passed = try ListenDescriptors(environment(1, nil), first: first)
            #expect(passed.remaining.map(\.name) == ["unknown"])
        }
    }

    @Test func watchdogBeatsTwicePerInterval() throws {
        let process = String(getpid())
        func interval(_ variables: [String: String]) throws -> Duration? {
            try Watchdog(ServiceEnvironment(variables: variables))?.interval
        }
        #expect(try interval(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": process]) == .seconds(30))
        let watchdog = try Watchdog(ServiceEnvironment(variables: ["WATCHDOG_USEC": "30000000"]))
        #expect(watchdog?.beat == .seconds(15))
        #expect(try interval([:]) == nil)
        #expect(try interval(["WATCHDOG_USEC": "1", "WATCHDOG_PID": "1"]) == nil)
        for text in ["0", "soon", "-5", ""] {
            #expect(throws: SystemdError.self) {
                try Watchdog(ServiceEnvironment(variables: ["WATCHDOG_USEC": text]))
            }
        }
    }

    @Test func sealedStateIsReadBackAndNobodyCanChangeIt() throws {
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        let file = try StoredState.write(bytes, name: "test")
        defer { close(file) }
        #expect(try StoredState.read(file, limit: 100_000) == bytes)
        #expect(write(file, bytes, 1) == -1 && errno == EPERM)
        #expect(ftruncate(file, 0) == -1 && errno == EPERM)
        let error = #expect(throws: SystemdError.self) { try StoredState.read(file, limit: 99_999) }
        #expect(error?.code == .tooLarge)

        let nothing = try StoredState.write([], name: "test")
        defer { close(nothing) }
        #expect(try StoredState.read(nothing, limit: 0) == [])
    }

    @Test func unsealedFilesAreNotRead() throws {
        let file = systemd_memory_file("test")
        defer { close(file) }
        let error = #expect(throws: SystemdError.self) { try StoredState.read(file, limit: 10) }
        #expect(error?.code == .descriptor)
        #expect(throws: SystemdError.self) { try StoredState.read(-1, limit: 10) }
    }

    @Test func bundleGivesDescriptorsBackInOrder() throws {
        // More than one message holds, each to be told from the others by what it reads.
        let files = try (0..<600).map {
            try StoredState.write([UInt8($0 % 256), UInt8($0 / 256)], name: "test")
        }
        let bundle = try DescriptorBundle.pack(files)
        defer { close(bundle) }
        for file in files { close(file) }
        let unpacked = try DescriptorBundle.unpack(bundle)
        defer { for file in unpacked { close(file) } }
        #expect(unpacked.count == 600)
        for (index, file) in unpacked.enumerated() {
            #expect(try StoredState.read(file, limit: 2) == [UInt8(index % 256), UInt8(index / 256)])
            #expect(fcntl(file, F_GETFD) & FD_CLOEXEC != 0)
        }
        #expect(try DescriptorBundle.unpack(bundle) == [])
    }

    @Test func bundleKeepsConnectionsOpenAndLetsGoOfThem() throws {
        var pair: [Int32] = [-1, -1]
        socketpair(AF_UNIX, Int32(systemd_stream) | systemd_close_on_exec, 0, &pair)
        defer { close(pair[0]) }
        let bundle = try DescriptorBundle.pack([pair[1]])
        close(pair[1])
        var byte: UInt8 = 0
        #expect(recv(pair[0], &byte, 1, systemd_dont_wait) == -1 && errno == EAGAIN)
        close(bundle)
        #expect(recv(pair[0], &byte, 1, systemd_dont_wait) == 0)
    }

    @Test func whatIsNoBundleIsRefused() throws {
        let file = try StoredState.write([1], name: "test")
        defer { close(file) }
        let error = #expect(throws: SystemdError.self) { try DescriptorBundle.unpack(file) }
        #expect(error?.code == .descriptor)
    }
}
