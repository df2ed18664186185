/// Counts line ends, eight bytes at a time: the measuring loop does nothing else with received bytes.
@inline(__always)
package func newlineCount(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard let base = bytes.baseAddress else { return 0 }
    let ones: UInt64 = 0x0101_0101_0101_0101
    let low: UInt64 = 0x7f7f_7f7f_7f7f_7f7f
    var total = 0
    var offset = 0
    while bytes.count &- offset >= 8 {
        // Each of the eight lanes counts its line ends. The sum of the lanes must fit into a byte.
        let end = offset &+ min((bytes.count &- offset) / 8, 31) &* 8
        var lanes: UInt64 = 0
        while offset < end {
            // A lane's top bit ends up clear exactly where the byte was a line end.
            let word = base.loadUnaligned(fromByteOffset: offset, as: UInt64.self) ^ (ones &* 0x0a)
            lanes &+= (~(((word & low) &+ low) | word) &>> 7) & ones
            offset &+= 8
        }
        total &+= Int(truncatingIfNeeded: (lanes &* ones) &>> 56)
    }
    while offset < bytes.count {
        if base.load(fromByteOffset: offset, as: UInt8.self) == 0x0a { total &+= 1 }
        offset &+= 1
    }
    return total
}
