import BusWork
import CLinux
import FluxBus
import Glibc

/// A directory with everything that a daemon of this program's own needs; it is removed with this object.
final class DaemonPlace {
    let path: String

    var socket: String { path + "/s" }
    var configuration: String { path + "/fluxbusd.yaml" }
    var log: String { path + "/bus.sqlite" }
    /// So far above the measured loads that they play no part.
    static let limits = "connections: 20000, memory: 16GiB, stores: 2000000"

    /// Access rules, as YAML of the configuration.
    var access = ""
    /// Where it listens for TLS on this machine, if it does.
    private(set) var securePort: UInt16?

    private var secureListener: String {
        guard let securePort else { return "" }
        return """
              - tls: 127.0.0.1:\(securePort)
                certificate: certificate.pem
                key: key.pem
            tokens: tokens
            """
    }

    private var types: String { path + "/types" }

    /// Makes one inside `parent`; the log is on the disk that `parent` is on.
    init(in parent: String) throws(BusError) {
        var template = Array((parent + "/fluxbus-bench-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            throw BusError(.forbidden, "\(parent) can't be written; name another with --directory.")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        Leftovers.add(place: path)
        mkdir(types, 0o700)
        for (name, definition) in zip(["counter", "gauge", "dial"], RequestKind.definitions) {
            try add(type: name + ".yaml", definition)
        }
        try add(type: Transfers.type + ".yaml", Transfers.definition)
    }

    deinit {
        Self.clear(path)
        Leftovers.remove(place: path)
    }

    /// Removes the directory and a daemon's files in it.
    static func clear(_ path: String) {
        for directory in [path + "/types", path] {
            for name in names(in: directory) { unlink(directory + "/" + name) }
            rmdir(directory)
        }
    }

    /// Writes the configuration. The log is never trimmed, so that it can be replayed from its beginning.
    func write(sync: OwnDaemon.Sync?, limits: String) throws(BusError) {
        var text = """
            listen:
              - unix: \(socket)
            \(secureListener)
            types: \(types)
            limits: { \(limits) }
            \(access)

            """
        if let sync {
            text += """
                log:
                  path: \(log)
                  sync: \(sync.rawValue)
                  retain: { age: 3650d, bytes: 1000GiB }

                """
        }
        try Self.write(configuration, text)
    }

    /// Has it listen for TLS, too, with a certificate that OpenSSL's program makes.
    func secure() throws(BusError) {
        try Self.write(path + "/tokens", "bench \(UInt64.random(in: 1 << 60 ... .max))\n")
        chmod(path + "/tokens", 0o600)
        let words = [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", "2", "-subj", "/CN=localhost", "-keyout", path + "/key.pem", "-out",
            path + "/certificate.pem",
        ]
        guard Self.run(words) == 0 else {
            throw BusError(.internal, "openssl can't make a certificate; install Debian's package openssl.")
        }
        chmod(path + "/key.pem", 0o600)
        securePort = Self.freePort()
    }

    private static func run(_ words: [String]) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
        }
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var pid: pid_t = 0
        guard posix_spawnp(&pid, words[0], &actions, nil, &arguments, environ) == 0 else { return -1 }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return status
    }

    /// A port that nobody listens on.
    private static func freePort() -> UInt16? {
        let descriptor = linux_stream_socket(AF_INET, 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        return withUnsafeMutablePointer(to: &address) { place in
            place.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                guard bind(descriptor, $0, length) == 0, getsockname(descriptor, $0, &length) == 0 else {
                    return nil
                }
                return UInt16(bigEndian: place.pointee.sin_port)
            }
        }
    }

    /// Lets other users reach its socket, though not read what is here.
    func openToOthers() { chmod(path, 0o711) }

    /// Adds a file with a state type, before the daemon starts.
    func add(type file: String, _ text: String) throws(BusError) { try Self.write(types + "/" + file, text) }

    /// How long the log's file is, in bytes.
    var logBytes: Int {
        var status = stat()
        return stat(log, &status) == 0 ? Int(status.st_size) : 0
    }

    private static func write(_ file: String, _ text: String) throws(BusError) {
        guard let stream = fopen(file, "we") else {
            throw BusError(.forbidden, "\(file) can't be written; name another place with --directory.")
        }
        fputs(text, stream)
        fclose(stream)
    }

    private static func names(in directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
