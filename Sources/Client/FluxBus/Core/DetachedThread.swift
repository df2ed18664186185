#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A thread that is never joined. It ends when its body returns.
enum DetachedThread {
    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(_ name: String, _ body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }

        func run() {
            showName()
            body()
        }

        /// Names this thread, for tools that look at the process from outside. Where that fails it has no name.
        private func showName() {
            let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
            guard file >= 0 else { return }
            let bytes = Array(name.utf8.prefix(15))
            _ = write(file, bytes, bytes.count)
            close(file)
        }
    }

    /// The system shows the first 15 bytes of the name. Throws `limit` when it has no thread left.
    static func start(named name: String, _ body: @escaping @Sendable () -> Void) throws(BusError) {
        let start = Unmanaged.passRetained(Start(name, body))
        var thread = pthread_t()
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let failure = pthread_create(
            &thread, &attributes,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, start.toOpaque())
        guard failure == 0 else {
            start.release()
            throw BusError(
                .limit,
                "No thread can be started for a bus (\(systemReason(failure))); use fewer threads, or allow more."
            )
        }
    }
}
