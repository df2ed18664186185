import Foundation

/// All fuzz targets in one program: `Fuzzers TARGET [libFuzzer's arguments]` looks for bytes that break a target, and
/// `Fuzzers TARGET --seeds FOLDER` writes samples to begin with. Built by `Tests/sanitize` only, as it needs libFuzzer.
enum Fuzzers {
    static var targets: [any FuzzTarget.Type] {
        [
            LineReaderTarget.self, YAMLTarget.self, ExpressionTarget.self, AccessTarget.self,
            HandshakeTarget.self,
            HandOverTarget.self, LogTarget.self,
        ]
    }

    /// Set before libFuzzer begins, and never again.
    nonisolated(unsafe) static var chosen: (any FuzzTarget.Type)?

    static func writeSeeds(of target: any FuzzTarget.Type, to folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for (number, seed) in try target.seeds().enumerated() {
            // With samples that are refused a fuzzer would look at refusals only.
            demand(seed.withUnsafeBytes { target.run($0) }, "Sample \(number) of \(target.name) is refused.")
            try Data(seed).write(to: URL(filePath: "\(folder)/seed-\(number)"))
        }
    }
}

/// What libFuzzer calls with each sample.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafeRawPointer?, _ count: Int) -> CInt {
    _ = Fuzzers.chosen?.run(UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
}

private typealias Arguments = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>, _ arguments: UnsafeMutablePointer<Arguments>,
    _ test: @convention(c) (UnsafeRawPointer?, Int) -> CInt
) -> CInt

/// Where SwiftPM makes an executable of this module begin. libFuzzer brings a `main` of its own, so that there can be no other.
@_cdecl("Fuzzers_main")
public func fuzzersMain(
    _ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
) -> CInt {
    let words = (0..<Int(count)).map { arguments[$0].map { String(cString: $0) } ?? "" }
    guard words.count > 1, let target = Fuzzers.targets.first(where: { $0.name == words[1] }) else {
        print("Fuzzers TARGET [libFuzzer's arguments], or Fuzzers TARGET --seeds FOLDER. The targets are:")
        for target in Fuzzers.targets { print(target.name) }
        return 64
    }
    if words.count == 4, words[2] == "--seeds" {
        do {
            try Fuzzers.writeSeeds(of: target, to: words[3])
            return 0
        } catch {
            print("The samples could not be written: \(error)")
            return 74
        }
    }
    Fuzzers.chosen = target
    // libFuzzer's arguments stand behind the program's name, where the target's name is now.
    arguments[1] = arguments[0]
    var rest = arguments + 1
    var left = count - 1
    return runDriver(&left, &rest, testOneInput)
}
