import Foundation
import TestFiles

/// A clock that a test sets while the programs run that go by it. Only the time of day moves.
package final class TestClock: Sendable {
    private static let compiler = "/usr/bin/cc"
    package static let isPossible = access(compiler, X_OK) == 0
    package static let isMissing = "\(compiler) is missing; apt-get install gcc brings it."

    private let directory = TemporaryDirectory()
    private var file: String { "\(directory.path)/lead" }

    /// Stands before the C library, and adds the seconds in a file.
    private static let source = """
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <stdlib.h>
        #include <sys/mman.h>
        #include <sys/syscall.h>
        #include <time.h>
        #include <unistd.h>

        static const volatile long long *lead = MAP_FAILED;

        __attribute__((constructor)) static void begin(void) {
            int file = open(getenv("TEST_CLOCK"), O_RDONLY | O_CLOEXEC);
            lead = mmap(NULL, sizeof *lead, PROT_READ, MAP_SHARED, file, 0);
            close(file);
        }

        int clock_gettime(clockid_t clock, struct timespec *time) {
            int result = (int)syscall(SYS_clock_gettime, clock, time);
            if (clock == CLOCK_REALTIME && result == 0 && lead != MAP_FAILED) time->tv_sec += *lead;
            return result;
        }
        """

    private static let libraries = TemporaryDirectory()
    private static let library = Result {
        try libraries.write("clock.c", source)
        let path = "\(libraries.path)/clock.so"
        let words = [compiler, "-shared", "-fPIC", "-O", "-o", path, "\(libraries.path)/clock.c"]
        let outcome = try RunningProgram(words, environment: ["PATH": "/usr/bin:/bin"]).wait()
        guard outcome.status == 0 else { throw Sockets.Failure(outcome.errors) }
        return path
    }

    /// With what a program is started that goes by it.
    package let variables: [String]

    package init() throws {
        variables = ["LD_PRELOAD=\(try Self.library.get())", "TEST_CLOCK=\(directory.path)/lead"]
        set(ahead: 0)
    }

    /// It is so many seconds ahead from now on; negative: behind.
    package func set(ahead seconds: Int) {
        let descriptor = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        withUnsafeBytes(of: Int64(seconds)) { _ = pwrite(descriptor, $0.baseAddress!, $0.count, 0) }
    }
}
