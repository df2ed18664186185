import BusLog
import Foundation
import Glibc
import Testing

/// A member's copy gives way to another one: wherever that is cut short, the next start finds one of the two, and all of it.
@Suite struct ReplacementTests {
    /// What is done to a directory, in the words of the kernel.
    private enum Step: Equatable {
        case rename(from: String, to: String)
        case delete(String)
    }

    private static let next = LogFile.next(of: "bus.sqlite")

    /// A copy in use with a commit that no checkpoint has moved, and beside it the one that is to take its place.
    private func prepare() throws -> (directory: Scratch, old: LogFile) {
        let directory = Scratch()
        let next = try LogFile(path: LogFile.next(of: directory.path), sync: .always, bootID: "boot")
        try next.begin(epoch: "new")
        try next.append(#"{"is":"new"}"#, first: 1, last: 1, time: 1)
        try next.close()
        let old = try directory.open()
        try old.begin(epoch: "old")
        try old.append(#"{"is":"old"}"#, first: 1, last: 1, time: 1)
        return (directory, old)
    }

    /// What `body` does in a directory, one after the other.
    private func steps(in directory: String, _ body: () throws -> Void) throws -> [Step] {
        let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        defer { close(descriptor) }
        let events = UInt32(IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE)
        try #require(inotify_add_watch(descriptor, directory, events) >= 0)
        try body()
        var (steps, moving): ([Step], String) = ([], "")
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = read(descriptor, &buffer, buffer.count)
        var rest = buffer.prefix(max(0, count))
        while rest.count >= 16 {
            // Its watch, what it is, what it belongs to, and how long the name behind them is.
            let words = rest.prefix(16).withUnsafeBytes { Array($0.bindMemory(to: UInt32.self)) }
            let name = String(
                decoding: rest.dropFirst(16).prefix(Int(words[3])).prefix { $0 != 0 }, as: UTF8.self)
            if words[1] & UInt32(IN_MOVED_FROM) != 0 { moving = name }
            if words[1] & UInt32(IN_MOVED_TO) != 0 { steps.append(.rename(from: moving, to: name)) }
            if words[1] & UInt32(IN_DELETE) != 0 { steps.append(.delete(name)) }
            rest = rest.dropFirst(16 + Int(words[3]))
        }
        return steps
    }

    private func apply(_ step: Step, in directory: String) {
        switch step {
        case .rename(let from, let to): #expect(rename("\(directory)/\(from)", "\(directory)/\(to)") == 0)
        case .delete(let name): #expect(unlink("\(directory)/\(name)") == 0)
        }
    }

    /// The epoch of what a start finds.
    private func start(in directory: Scratch) throws -> String {
        try LogFile.finishGivingWay(at: directory.path)
        let file = try directory.open()
        #expect(file.lastRevision == 1)
        let epoch = try #require(try directory.reader().epoch())
        #expect(try directory.reader().groups().map(\.entries) == [#"{"is":"\#(epoch)"}"#])
        try file.close()
        #expect(!directory.names.contains(Self.next))
        return epoch
    }

    private func files(of directory: Scratch) -> [String: [UInt8]] {
        Dictionary(
            uniqueKeysWithValues: directory.names.map { ($0, Scratch.read("\(directory.directory)/\($0)")) })
    }

    private func copy(of files: [String: [UInt8]]) -> Scratch {
        let copy = Scratch()
        for (name, bytes) in files { Scratch.write(bytes, to: "\(copy.directory)/\(name)") }
        return copy
    }

    @Test func aCrashAnywhereLeavesOneOfTheTwo() throws {
        let (directory, old) = try prepare()
        let live = files(of: directory)
        let steps = try steps(in: directory.directory) { _ = try old.giveWay() }
        #expect(steps.contains(.rename(from: Self.next, to: "bus.sqlite")))
        // Its end moves its commits into the file, before anything gets another name.
        let (other, closed) = try prepare()
        try closed.close()
        let ended = files(of: other)
        var found = [try start(in: copy(of: live))]
        for count in 0...steps.count {
            let copy = copy(of: ended)
            for step in steps.prefix(count) { apply(step, in: copy.directory) }
            found.append(try start(in: copy))
        }
        withExtendedLifetime(closed) {}
        // First what was, then what takes its place, and never anything else.
        #expect(found.first == "old" && found.last == "new")
        #expect(found == found.sorted(by: >))
    }
}
