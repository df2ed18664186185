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

    /// How many arrays and objects a line opens outside its strings.
    package static func containers(in line: UnsafeRawBufferPointer) -> Int {
        var count = 0
        var inString = false
        var place = 0
        while place < line.count {
            switch line[place] {
            case UInt8(ascii: "\\") where inString: place += 1
            case UInt8(ascii: "\""): inString.toggle()
            case UInt8(ascii: "["), UInt8(ascii: "{"): if !inString { count += 1 }
            default: break
            }
            place += 1
        }
        return count
    }
}
