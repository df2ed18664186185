import BusSystem
import Dispatch
import Foundation
import Glibc
import TestFiles
import Testing

/// What several targets need of the system.
@Suite(.timeLimit(.minutes(10))) struct BusSystemTests {
    private let directory = TemporaryDirectory()

    @Test func durationsAreCutToTheirUnitAndNeverTrap() {
        let duration = Duration.milliseconds(1500) + .nanoseconds(1_999_999)
        #expect(duration.nanoseconds == 1_501_999_999)
        #expect(duration.microseconds == 1_501_999)
        #expect(duration.milliseconds == 1501)
        #expect(duration.roundedUpToMilliseconds == 1502)
        #expect(Duration(secondsComponent: 0, attosecondsComponent: 1).roundedUpToMilliseconds == 1)
        #expect(Duration.milliseconds(-1500).milliseconds == -1500)
        #expect(Duration.milliseconds(2500).seconds == 2.5)
        for longest in [Duration.seconds(Int64.max), .seconds(Int64.min)] {
            #expect(longest.nanoseconds.magnitude >= UInt(Int.max / 4))
            _ = longest.nanoseconds + longest.milliseconds
        }
    }

    @Test func momentsComeAfterNowAndNeverOverflow() {
        let now = MonotonicClock.nanoseconds
        #expect(MonotonicClock.moment(after: .seconds(1)) >= now + 1_000_000_000)
        #expect(MonotonicClock.moment(after: .seconds(-1)) >= now)
        #expect(MonotonicClock.moment(after: nil) == .max)
        #expect(MonotonicClock.moment(after: .seconds(Int64.max)) > now)
        #expect(MonotonicClock.milliseconds >= now / 1_000_000)
    }

    @Test func signalEndsTheNextWaitOnce() {
        let wakeUp = WakeUp()
        let before = wakeUp.wait(milliseconds: 0)
        wakeUp.signal()
        wakeUp.signal()
        let signalled = wakeUp.wait(milliseconds: -1)
        wakeUp.clear()
        let cleared = wakeUp.wait(milliseconds: 0)
        #expect(!before && signalled && !cleared)
    }

    @Test func threadHasItsName() async throws {
        let name = await withCheckedContinuation { (continuation: CheckedContinuation<String?, Never>) in
            do {
                try SystemThread.start(named: "a name that is too long") {
                    let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
                    continuation.resume(returning: name)
                }
            } catch { continuation.resume(returning: "\(error)") }
        }
        #expect(name == "a name that is \n")
    }

    @Test func onlyFilesWithinTheLimitAreReadWhole() throws {
        func refusal(_ path: String) -> String {
            do throws(WholeFile.Refusal) {
                return "\(try WholeFile.read(path, limit: 5) { $0.st_mode & 0o007 == 0 ? nil : "open" })"
            } catch { return "\(error)" }
        }
        #expect(refusal(try directory.write("short", "12345", mode: 0o600)) == "[49, 50, 51, 52, 53]")
        #expect(refusal(try directory.write("long", "123456", mode: 0o600)) == "tooLarge")
        #expect(refusal(try directory.write("open", "1", mode: 0o644)) == "refused(\"open\")")
        #expect(refusal("\(directory.path)/none") == "failed(open: No such file or directory)")
        // Nobody writes into it.
        let pipe = "\(directory.path)/pipe"
        try #require(mkfifo(pipe, 0o600) == 0)
        for path in [pipe, directory.path, "/dev/null"] { #expect(refusal(path) == "notRegular") }
    }

    @Test func directoryIsPrivateAndGoesWithItsFiles() throws {
        var inner: PrivateDirectory? = try PrivateDirectory(in: directory.path, prefix: "inner")
        let path = try #require(inner?.path)
        var status = stat()
        #expect(lstat(path, &status) == 0 && status.st_mode & 0o777 == 0o700)
        let outside = try directory.write("outside", "kept")
        let file = try #require(try inner?.write("a/b/file", "text", mode: 0o640))
        #expect(lstat(file, &status) == 0 && status.st_mode & 0o777 == 0o640 && status.st_size == 4)
        symlink(outside, "\(path)/a/link")
        symlink(directory.path, "\(path)/a/folder")
        inner = nil
        #expect(access(path, F_OK) != 0)
        #expect(access(outside, F_OK) == 0)
        #expect(throws: SystemError.self) {
            try PrivateDirectory(in: "\(directory.path)/absent", prefix: "inner")
        }
    }

    private func open() -> Int32 { socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0) }

    @Test func occupantsOfASocketsNameAreToldApart() throws {
        let path = "\(directory.path)/socket"
        let address = UnixAddress(path)
        func name() -> String { "\(address.occupant())" }
        #expect(name() == "nothing")
        try directory.write("socket", "text")
        #expect(name() == "other")
        unlink(path)
        let listener = open()
        #expect(address.bind(listener) == 0)
        #expect(name() == "stale")
        #expect(listen(listener, 1) == 0)
        #expect(name() == "live")
        let client = open()
        #expect(address.connect(client) == 0)
        close(client)
        // A program that another test starts has it for a moment, and it ends there, too.
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        #expect(name() == "stale")
        unlink(path)
        symlink("\(directory.path)/elsewhere", path)
        #expect(name() == "other")
    }

    @Test func pathThatIsTooLongIsNoAddress() {
        let path = String(repeating: "x", count: UnixAddress.longestPath + 1)
        let descriptor = open()
        defer { close(descriptor) }
        #expect(UnixAddress(path).bind(descriptor) != 0)
        #expect(UnixAddress(path).connect(descriptor) != 0)
    }
}
