import Glibc

/// Takes signals in a thread of its own, one after the other. Of several that wait, Linux hands out the one with the lowest
/// number first: SIGHUP, SIGINT, SIGUSR1, SIGTERM. What announces a restart is so heard before what begins it, which sources
/// of Dispatch, one for each signal, don't promise.
package enum SignalThread {
    /// Blocks the signals in this thread and those that it starts from now on: it is called before there are others.
    ///
    /// - Parameter handle: Called in that thread, until the process ends.
    package static func start(
        taking signals: [Int32], _ handle: @escaping @Sendable (_ signal: Int32) -> Void
    ) {
        var taken = sigset_t()
        sigemptyset(&taken)
        for signal in signals { sigaddset(&taken, signal) }
        pthread_sigmask(SIG_BLOCK, &taken, nil)
        SystemThread.startNecessary(named: "fluxbus-signals") { [taken] in
            var taken = taken
            while true {
                var signal: Int32 = 0
                if sigwait(&taken, &signal) == 0 { handle(signal) }
            }
        }
    }
}
