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

    private var types: String { path + "/types" }
    private var type: String { types + "/counter.yaml" }

    /// Makes one inside `parent`; the log is on the disk that `parent` is on.
    init(in parent: String) throws(BusError) {
        var template = Array((parent + "/fluxbus-bench-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            throw BusError(.forbidden, "\(parent) can't be written; name another with --directory.")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        Leftovers.add(place: path)
        mkdir(types, 0o700)
        try Self.write(
            type,
            """
            type: counter
            initial: { count: 0 }
            actions:
              increment:
                payload: { by: { type: integer, default: 1 } }
                increment: { count: { var: payload.by } }

            """)
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
            types: \(types)
            limits: { \(limits) }

            """
        if let sync {
            text += """
                log:
                  path: \(log)
                  sync: \(sync.rawValue)
                  retain: { commits: 1000000000, age: 3650d, bytes: 1000GiB }

                """
        }
        try Self.write(configuration, text)
    }

    /// Adds a file with a state type, before the daemon starts.
    func add(type file: String, _ text: String) throws(BusError) { try Self.write(types + "/" + file, text) }

    /// How long the log's file is, in bytes.
    var logBytes: Int {
        var status = stat()
        return stat(log, &status) == 0 ? Int(status.st_size) : 0
    }

    private static func write(_ file: String, _ text: String) throws(BusError) {
        guard let stream = fopen(file, "w") else {
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
