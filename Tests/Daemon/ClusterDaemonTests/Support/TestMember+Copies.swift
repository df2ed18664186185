import Foundation
import TestServer

/// What happens to the files of a member that does not run.
extension TestMember {
    private var files: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        return names.filter { $0.hasPrefix("bus.sqlite") }.map { "\(directory.path)/\($0)" }
    }

    /// Its largest file, in bytes.
    var largestFile: Int {
        files.compactMap { try? FileManager.default.attributesOfItem(atPath: $0)[.size] as? Int }.max() ?? 0
    }

    func removeCopy() {
        for file in files { try? FileManager.default.removeItem(atPath: file) }
    }

    /// It has what a backup has, its own or another member's.
    func replaceCopy(by backup: String) throws {
        removeCopy()
        try FileManager.default.copyItem(atPath: backup, toPath: "\(directory.path)/bus.sqlite")
    }

    /// Some bytes in the middle are others, and what was not moved there yet is gone.
    func damageCopy(at fraction: Double) {
        for file in files where !file.hasSuffix("bus.sqlite") {
            try? FileManager.default.removeItem(atPath: file)
        }
        let descriptor = open("\(directory.path)/bus.sqlite", O_WRONLY | O_CLOEXEC)
        defer { close(descriptor) }
        let rubbish = [UInt8](repeating: 0x5a, count: 8192)
        let place = Int(Double(max(0, largestFile - rubbish.count)) * fraction)
        _ = rubbish.withUnsafeBytes { pwrite(descriptor, $0.baseAddress!, $0.count, off_t(place)) }
    }

    /// Saves what it has now in a file.
    func backUp(to file: String) throws {
        let outcome = try RunningProgram.run("fluxbus", ["--address", address, "backup", file])
        guard outcome.status == 0 else { throw TestCluster.Failure(description: outcome.errors) }
    }
}
