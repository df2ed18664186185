import Foundation

/// How often a random test runs.
package enum Seeds {
    /// The seeds of a test: a sixth of them where a sanitizer slows each down, or as many as FLUXBUS_SEEDS says if the test is
    /// one that does.
    package static func some<Number: FixedWidthInteger & Sendable>(
        _ count: Number, asSaid: Bool = false
    ) -> Range<Number> where Number.Stride: SignedInteger {
        if asSaid, let said = ProcessInfo.processInfo.environment["FLUXBUS_SEEDS"].flatMap({ Number($0) }) {
            return 0..<said
        }
        #if SANITIZE
            return 0..<max(1, count / 6)
        #else
            return 0..<count
        #endif
    }
}
