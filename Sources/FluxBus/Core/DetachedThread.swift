#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A thread that nobody joins. It ends when its body returns.
enum DetachedThread {
    private final class Start: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Throws `limit` when the system has none left.
    static func start(_ body: @escaping @Sendable () -> Void) throws(BusError) {
        let start = Unmanaged.passRetained(Start(body))
        var thread = pthread_t()
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let failure = pthread_create(
            &thread, &attributes,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
                return nil
            }, start.toOpaque())
        guard failure == 0 else {
            start.release()
            throw BusError(
                .limit,
                "No thread can be started for a bus (\(systemReason(failure))); use fewer threads, or allow more.")
        }
    }
}
