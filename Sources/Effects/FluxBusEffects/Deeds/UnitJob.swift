import BusEffects
import BusSystem
import CSystemd
import Glibc

/// A job of the service manager, by D-Bus: asked for, and waited for until it is done.
///
/// Each has a connection of its own on the thread that waits, so that none holds another up.
enum UnitJob {
    private static let method: [UnitVerb: String] = [
        .start: "StartUnit", .stop: "StopUnit", .restart: "RestartUnit", .reload: "ReloadUnit",
    ]

    /// Starts the job. `onEnd` is called on another thread: with nil after success, else with why not, as a clause.
    static func start(
        _ verb: UnitVerb, _ unit: String, within time: Duration,
        onEnd: @escaping @Sendable (String?) -> Void
    ) throws(SystemError) {
        try SystemThread.start(named: "effect unit") {
            do throws(Refusal) {
                onEnd(try result(of: verb, unit, until: MonotonicClock.moment(after: time)))
            } catch {
                onEnd(error.reason)
            }
        }
    }

    private struct Refusal: Error {
        let reason: String
    }

    /// The job that is waited for, and how each job ended.
    private final class Watch {
        var job = ""
        var removed: [String: String] = [:]
    }

    private static func result(
        of verb: UnitVerb, _ unit: String, until deadline: Int
    ) throws(Refusal) -> String? {
        var bus: OpaquePointer?
        // As systemctl does: root asks the manager itself, which needs no message bus.
        if geteuid() != 0 || systemd_open_manager(&bus) < 0 {
            try check(sd_bus_open_system(&bus), "the message bus can't be reached")
        }
        defer { sd_bus_flush_close_unref(bus) }
        let watch = Watch()
        try check(
            sd_bus_match_signal(
                bus, nil, nil, systemd_manager_path, systemd_manager_interface, "JobRemoved",
                { message, context, _ in
                    guard let message, let context else { return 0 }
                    let watch = Unmanaged<Watch>.fromOpaque(context).takeUnretainedValue()
                    var (job, result): (UnsafePointer<CChar>?, UnsafePointer<CChar>?)
                    if systemd_read_removed(message, &job, &result) >= 0, let job, let result {
                        watch.removed[String(cString: job)] = String(cString: result)
                    }
                    return 0
                }, Unmanaged.passUnretained(watch).toOpaque()), "the service manager can't be watched")
        try check(systemd_subscribe(bus), "the service manager can't be watched")
        watch.job = try ask(bus, method[verb] ?? "", unit)
        while watch.removed[watch.job] == nil {
            let left = (deadline - MonotonicClock.nanoseconds) / 1000
            guard left > 0 else { throw Refusal(reason: "\(unit) took too long; the job goes on") }
            let moved = sd_bus_process(bus, nil)
            try check(moved, "the service manager is gone")
            if moved == 0 { try check(sd_bus_wait(bus, UInt64(left)), "the service manager is gone") }
        }
        let result = watch.removed[watch.job] ?? ""
        return result == "done" || result == "skipped" ? nil : "the job of \(unit) ended as \(result)"
    }

    private static func ask(_ bus: OpaquePointer?, _ method: String, _ unit: String) throws(Refusal) -> String
    {
        var error = sd_bus_error()
        defer { sd_bus_error_free(&error) }
        var reply: OpaquePointer?
        defer { sd_bus_message_unref(reply) }
        let answer = systemd_call_unit(bus, method, unit, &error, &reply)
        guard answer >= 0 else {
            let words = error.message.map { String(cString: $0) } ?? systemReason(-answer)
            throw Refusal(reason: "\(unit): \(words.hasSuffix(".") ? String(words.dropLast()) : words)")
        }
        var path: UnsafePointer<CChar>?
        try check(systemd_read_job(reply, &path), "the service manager gave no job")
        return path.map { String(cString: $0) } ?? ""
    }

    private static func check(_ answer: Int32, _ what: String) throws(Refusal) {
        if answer < 0, answer != -EINTR { throw Refusal(reason: "\(what) (\(systemReason(-answer)))") }
    }
}
