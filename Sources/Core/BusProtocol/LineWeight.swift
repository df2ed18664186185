internal import CScan

/// How many values a line holds, counted before it is parsed: an estimate of the cost of parsing it.
package struct LineWeight {
    /// Arrays and objects.
    package let containers: Int
    /// Separators of values.
    package let commas: Int

    /// Counts the bytes that open a container or separate values; those inside strings count, too.
    package init(_ line: UnsafeRawBufferPointer) {
        let counts = scan_count(line.baseAddress?.assumingMemoryBound(to: UInt8.self), line.count)
        containers = counts.opening
        commas = counts.commas
    }
}
