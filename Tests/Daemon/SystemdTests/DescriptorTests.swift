import BusSystem
import CSystemd
import Glibc
import Systemd
import Testing

/// Passed descriptors, bundles and sealed files, without a manager.
@Suite struct DescriptorTests {
    private func listener(_ family: Int32) -> Int32 { PassedProbe.listener(family) }

    @Test func passedSocketsComeByNameAndKind() throws {
        let sockets = [listener(AF_UNIX), listener(AF_INET), listener(AF_UNIX)]
        defer { for socket in sockets { close(socket) } }
        var passed = ListenDescriptors(
            zip(sockets, ["bus", "bus", "other"]).map { PassedDescriptor(descriptor: $0, name: $1) })
        let error = #expect(throws: SystemdError.self) {
            try passed.take(named: "bus", as: .unixListener)
        }
        #expect(error?.code == .descriptor)
        // A refusal takes nothing.
        #expect(passed.remaining.count == 3)
        #expect(try passed.take(named: "bus", as: .streamListener) == Array(sockets[..<2]))
        #expect(try passed.take(named: "bus", as: .streamListener) == [])
        #expect(passed.take(named: "other") == [PassedDescriptor(descriptor: sockets[2], name: "other")])
        #expect(passed.remaining.isEmpty)
        #expect(try SocketKind.tcpListener.matches(sockets[1]))
        #expect(try !SocketKind.streamConnection.matches(sockets[0]))
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
        let file = try MemoryFile.write(UnsafeRawBufferPointer(start: nil, count: 0), name: "test")
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
        // A program that another test starts has it, too, for a moment.
        var end = pollfd(fd: pair[0], events: Int16(POLLIN), revents: 0)
        #expect(poll(&end, 1, 20_000) == 1 && recv(pair[0], &byte, 1, systemd_dont_wait) == 0)
    }

    @Test func whatIsNoBundleIsRefused() throws {
        let file = try StoredState.write([1], name: "test")
        defer { close(file) }
        let error = #expect(throws: SystemdError.self) { try DescriptorBundle.unpack(file) }
        #expect(error?.code == .descriptor)
    }
}
