/// The names of an enum's cases, in the order of their declaration.
///
/// The language tells them of no enum without a value of it. The compiler writes them beside each for reflection, in the layout
/// of its stable ABI, and that is read here: when a type is registered, never for a request.
enum EnumCases {
    /// Nil for what is no enum, and where a program is built without reflection.
    static func names(of type: Any.Type) -> [String]? {
        let metadata = unsafeBitCast(type, to: UnsafeRawPointer.self)
        guard metadata.load(as: Int.self) == kindOfEnums else { return nil }
        let descriptor = metadata.load(
            fromByteOffset: MemoryLayout<Int>.size, as: UnsafeRawPointer.self)
        guard let fields = target(of: descriptor + 16) else { return nil }
        let size = Int(fields.load(fromByteOffset: 10, as: UInt16.self))
        let count = Int(fields.load(fromByteOffset: 12, as: UInt32.self))
        return (0..<count).compactMap { number in
            target(of: fields + 16 + number * size + 8).map {
                String(cString: $0.assumingMemoryBound(to: CChar.self))
            }
        }
    }

    private static let kindOfEnums = 0x201

    /// References in that data are distances from where they stand; 0 is none.
    private static func target(of reference: UnsafeRawPointer) -> UnsafeRawPointer? {
        let distance = reference.load(as: Int32.self)
        return distance == 0 ? nil : reference + Int(distance)
    }
}
