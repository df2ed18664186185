import BusWork
import CStepCount
import FluxBus
import Glibc

/// The instructions that the engine executes for one request, counted: the same on every machine of a kind, however busy.
///
/// This program runs itself once more, step by step where a turn of requests is executed.
struct InstructionBench {
    /// A step takes some 15 µs on a virtual machine.
    private static let requestsPerTurn = 16
    /// Turns before the one that is counted, until all that is kept for reuse has been made. In the next one no table grows.
    private static let turnsBefore = 40

    private struct Part {
        let name: String
        let setting: MemoryLoad.Setting
    }

    private static let parts: [Part] =
        [("nobody watches", 0), ("1 subscriber", 1), ("100 subscribers", 100)].map { name, subscribers in
            var setting = MemoryLoad.Setting()
            setting.subscribers = subscribers
            return Part(name: "one store, \(name)", setting: setting)
        }
        + RequestKind.single.map { kind in
            var setting = MemoryLoad.Setting()
            (setting.request, setting.stores, setting.subscribers) = (.kind(kind), 100, 1)
            return Part(name: "kind: \(kind.rawValue), of 100 stores, 1 subscriber", setting: setting)
        }

    static func run(_ tell: (Measurement) -> Void) throws {
        let words = Self.strings(["/proc/self/exe", "--scenario", "instructions", "--counted"])
        // Tables whose order differs from run to run take a few instructions more or less.
        let variables = Self.strings(["SWIFT_DETERMINISTIC_HASHING=1"])
        defer { for text in words + variables { free(text) } }
        var counts = [Int](repeating: 0, count: parts.count)
        guard step_count(words, variables, &counts, Int32(counts.count)) == parts.count else {
            throw BusError(
                .forbidden,
                "Instructions can't be counted here (\(String(cString: strerror(errno)))); allow ptrace.")
        }
        for (part, count) in zip(parts, counts) {
            tell(
                Measurement(
                    scenario: "instructions", name: part.name, value: Double(count) / Double(requestsPerTurn),
                    unit: "instructions a request"))
        }
    }

    /// As C has them, with a null behind. The caller frees them.
    private static func strings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        texts.map { strdup($0) } + [nil]
    }

    /// What is counted.
    static func execute() throws {
        for part in parts {
            let load = try MemoryLoad(part.setting)
            // Other keys in each turn.
            let turns = (0...turnsBefore).map { load.requests(requestsPerTurn, round: $0) }
            for requests in turns.dropLast() { load.turn(requests) }
            // Giving memory back is no part of a turn.
            withExtendedLifetime(turns) {
                raise(SIGSTOP)
                load.turn(turns[turnsBefore])
                raise(SIGSTOP)
            }
        }
    }
}
