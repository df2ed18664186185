import CLinux
import Glibc

/// Starting programs, without a shell: words and variables reach them as they are. A descriptor that is closed on exec does not.
package enum Spawning {
    /// What a program's standard streams are; those that are not named are those of this program.
    package enum Stream {
        case descriptor(Int32)
        /// A file, opened as `open` has it; made readable for its owner only.
        case file(String, flags: Int32)
    }

    /// Starts a program with no signal blocked, and returns its number.
    ///
    /// - Parameters:
    ///   - words: Its path, or its name where `$PATH` is searched, and its arguments.
    ///   - variables: Its environment, each as `NAME=VALUE`.
    ///   - inherits: Which variables of this program it has besides, byte for byte; none without it.
    ///   - closesOthers: It has no descriptor above its streams, though some of this program are not closed on exec.
    ///   - leadsGroup: It leads a process group of its own, so that a terminal's Ctrl-C does not reach it.
    ///   - hasDefaultSignals: No signal is ignored by it, whatever this program ignores.
    package static func start(
        _ words: [String], searchesPath: Bool = false, variables: [String],
        inherits: (UnsafePointer<CChar>) -> Bool = { _ in false }, streams: [Int32: Stream] = [:],
        closesOthers: Bool = false, leadsGroup: Bool = false, hasDefaultSignals: Bool = false
    ) throws(SystemError) -> pid_t {
        var files = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&files)
        defer { posix_spawn_file_actions_destroy(&files) }
        for (number, stream) in streams {
            switch stream {
            case .descriptor(let descriptor): posix_spawn_file_actions_adddup2(&files, descriptor, number)
            case .file(let path, let flags):
                posix_spawn_file_actions_addopen(&files, number, path, flags, 0o600)
            }
        }
        if closesOthers { linux_close_from(&files, max(STDERR_FILENO, streams.keys.max() ?? 0) + 1) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var (none, all) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        var flags = POSIX_SPAWN_SETSIGMASK
        if leadsGroup { flags |= POSIX_SPAWN_SETPGROUP }
        if hasDefaultSignals { flags |= POSIX_SPAWN_SETSIGDEF }
        posix_spawnattr_setflags(&attributes, Int16(flags))

        let arguments = words.map { strdup($0) } + [nil]
        let given = variables.map { strdup($0) }
        defer { for text in arguments + given { free(text) } }
        var inherited: [UnsafeMutablePointer<CChar>?] = []
        var entry = environ
        while let text = entry.pointee {
            if inherits(text) { inherited.append(text) }
            entry += 1
        }
        var process = pid_t()
        let start = searchesPath ? posix_spawnp : posix_spawn
        let error = start(&process, words[0], &files, &attributes, arguments, inherited + given + [nil])
        guard error == 0 else { throw SystemError(words[0], code: error) }
        return process
    }
}
