/// Something that reads bytes from outside, for libFuzzer to find bytes that break it.
///
/// A target traps where a guarantee does not hold; the sanitizer and the runtime trap for everything else.
protocol FuzzTarget {
    /// What the command line calls it.
    static var name: String { get }
    /// Samples from which libFuzzer begins.
    static func seeds() throws -> [[UInt8]]
    /// True if the bytes are taken and not refused. Must follow from them alone, so that a finding can be run again.
    static func run(_ bytes: UnsafeRawBufferPointer) -> Bool
}

/// Stops where a guarantee does not hold, with its sentence also in an optimized program.
func demand(_ holds: Bool, _ sentence: @autoclosure () -> String) {
    if !holds { fatalError(sentence()) }
}
