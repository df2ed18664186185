import BusMap
import BusSystem
import CMap
import Glibc
import Testing

/// A file that has the states of stores: what its readers see, and what they can't do.
@Suite(.timeLimit(.minutes(10))) struct MapTests {
    private let writer: MapWriter
    private let reader: MapReader

    init() throws {
        writer = try MapWriter(named: "counter", stores: 8, blocks: 256)
        reader = try MapReader(writer.descriptor)
    }

    private func state(_ text: String, _ revision: UInt64) -> ReadText {
        ReadText(answer: .state(length: text.utf8.count, revision: revision), text: text)
    }

    @Test func storeIsReadAtItsRevision() throws {
        #expect(reader.read("kitchen") == ReadText(answer: .none))
        try writer.publish(#"{"count":1}"#, of: "kitchen", revision: 4)
        try writer.publish(#"{"count":70}"#, of: "hall", revision: 5)
        try writer.publish(#"{"count":2}"#, of: "kitchen", revision: 6)
        #expect(reader.read("kitchen") == state(#"{"count":2}"#, 6))
        #expect(reader.read("hall") == state(#"{"count":70}"#, 5))
        #expect(reader.read("kitche") == ReadText(answer: .none))
    }

    @Test func droppedStoreHasNoStateUntilItIsMadeAgain() throws {
        try writer.publish(nil, of: "hall", revision: 1)
        for revision in stride(from: UInt64(2), to: 40, by: 2) {
            try writer.publish("{}", of: "hall", revision: revision)
            #expect(reader.read("hall") == state("{}", revision))
            try writer.publish(nil, of: "hall", revision: revision + 1)
            #expect(reader.read("hall") == ReadText(answer: .none))
        }
    }

    @Test func statesThatGrowTakeTheRoomThatOthersOutgrew() throws {
        var revision: UInt64 = 0
        // Of 6 stores one after the other, up to 16 blocks for each place. Without what others outgrew that takes 378 blocks;
        // the map has 256.
        for index in 0..<6 {
            for length in [1, 60, 70, 200, 500, 1000, 1000, 30] {
                for _ in 0..<2 {
                    revision += 1
                    let text = String(repeating: "x", count: length)
                    try writer.publish(text, of: "store-\(index)", revision: revision)
                    #expect(reader.read("store-\(index)") == state(text, revision))
                }
            }
        }
    }

    @Test func shortBufferIsToldTheLength() throws {
        try writer.publish("0123456789", of: "hall", revision: 1)
        #expect(reader.read("hall", room: 9) == ReadText(answer: .long(length: 10)))
        #expect(reader.read("hall", room: 10) == state("0123456789", 1))
    }

    @Test func everyNameThatFitsIsFoundAndMoreNeedAnotherMap() throws {
        for index in 0..<8 {
            try writer.publish("\(index)", of: "store-\(index)", revision: UInt64(index + 1))
        }
        #expect(throws: MapRefusal.full) { try writer.publish("8", of: "store-8", revision: 9) }
        for index in 0..<8 { #expect(reader.read("store-\(index)") == state("\(index)", UInt64(index + 1))) }
        #expect(reader.read("store-8") == ReadText(answer: .none))
    }

    @Test func stateWithoutRoomLeavesTheOneBefore() throws {
        try writer.publish("small", of: "hall", revision: 1)
        #expect(throws: MapRefusal.full) {
            try writer.publish(String(repeating: "x", count: 20000), of: "hall", revision: 2)
        }
        #expect(reader.read("hall") == state("small", 1))
    }

    @Test func tooLongNamesAndStatesAreRefused() {
        let name = String(repeating: "n", count: MapLimits.name + 1)
        #expect(throws: MapRefusal.long) { try writer.publish("1", of: name, revision: 1) }
        let state = String(repeating: "s", count: MapLimits.state + 1)
        #expect(throws: MapRefusal.long) { try writer.publish(state, of: "hall", revision: 1) }
    }

    @Test func readerNoticesThatAMapIsKeptNoMore() throws {
        try writer.publish("1", of: "hall", revision: 1)
        writer.end(fluxbus_map_moved)
        #expect(reader.read("hall") == ReadText(answer: .moved))
        #expect(reader.read("no such") == ReadText(answer: .moved))
        writer.end(fluxbus_map_ended)
        #expect(reader.read("hall") == ReadText(answer: .ended))
    }

    @Test func mapEndsWithItsWriter() throws {
        var writer: MapWriter? = try MapWriter(named: "counter", stores: 1, blocks: 8)
        try writer?.publish("1", of: "hall", revision: 1)
        let reader = try MapReader(#require(writer).descriptor)
        #expect(reader.read("hall") == state("1", 1))
        writer = nil
        #expect(reader.read("hall") == ReadText(answer: .ended))
    }

    @Test func nobodyElseCanWriteToAMap() throws {
        try writer.publish("1", of: "hall", revision: 1)
        // Swift's C library module does not show it.
        let symbol = try #require(dlsym(nil, "fallocate"))
        let punch = unsafeBitCast(symbol, to: (@convention(c) (Int32, Int32, Int, Int) -> Int32).self)
        // Also by a descriptor that is opened for writing anew.
        let opened = open("/proc/self/fd/\(writer.descriptor)", O_RDWR)
        #expect(opened >= 0)
        defer { close(opened) }
        for file in [writer.descriptor, opened] {
            #expect(pwrite(file, "x", 1, 0) == -1 && errno == EPERM)
            #expect(ftruncate(file, 0) == -1 && errno == EPERM)
            #expect(ftruncate(file, 1 << 20) == -1 && errno == EPERM)
            // Keeping its size, a hole would be zeros.
            #expect(punch(file, 1 | 2, 0, 4096) == -1 && errno == EPERM)
            let writable = mmap(nil, writer.size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
            #expect(writable == MAP_FAILED && errno == EPERM)
            let readable = try #require(mmap(nil, writer.size, PROT_READ, MAP_SHARED, file, 0))
            #expect(mprotect(readable, writer.size, PROT_READ | PROT_WRITE) == -1 && errno == EACCES)
            munmap(readable, writer.size)
        }
        #expect(reader.read("hall") == state("1", 1))
    }

    @Test func fileWhoseSizeCanChangeIsNotRead() throws {
        let file = try [UInt8](repeating: 0, count: 4096).withUnsafeBytes {
            try MemoryFile.write($0, name: "open")
        }
        defer { close(file) }
        #expect(throws: MapMistake.unsealed) { try MapReader(file) }
        #expect(throws: MapMistake.unsealed) { try MapReader(-1) }
    }

    /// A descriptor keeps a file, and so does a mapping without one.
    @Test func fileIsGoneWithItsLastReader() throws {
        let releases = try MapReleases()
        func isReady(within milliseconds: Int32 = 0) -> Bool {
            var waiting = pollfd(fd: releases.descriptor, events: Int16(POLLIN), revents: 0)
            return poll(&waiting, 1, milliseconds) == 1
        }
        /// Waits for so many: a program that another test starts has all descriptors for a moment.
        func gone(_ count: Int) -> [Int] {
            var numbers: [Int] = []
            while numbers.count < count, isReady(within: 60_000) {
                releases.forEachGone { numbers.append($0) }
            }
            return numbers.sorted()
        }
        var writers: [MapWriter] = []
        for number in 1...200 {
            writers.append(try MapWriter(named: "counter", stores: 8, blocks: 256))
            try releases.follow(writers.last!, number: number)
        }
        var reader: MapReader? = try MapReader(writers[6].descriptor)
        let descriptor = dup(writers[8].descriptor)
        writers = []
        #expect(gone(198) == Array(1...200).filter { $0 != 7 && $0 != 9 })
        #expect(!isReady())
        #expect(reader?.read("kitchen").answer == .ended)
        reader = nil
        #expect(gone(1) == [7])
        close(descriptor)
        #expect(gone(1) == [9])
    }
}
