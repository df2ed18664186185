/// Whole texts as values: nothing but white space may stand around the one value.
extension JSON {
    /// Parses a whole text that holds exactly one value.
    public init(parsing text: String, depthLimit: Int = 64) throws(JSONError) {
        self = try text.utf8Span.span.withUnsafeBytes { (text) throws(JSONError) in
            try JSON(parsing: text, depthLimit: depthLimit)
        }
    }

    /// Parses bytes that hold exactly one value.
    public init(parsing bytes: UnsafeRawBufferPointer, depthLimit: Int = 64) throws(JSONError) {
        var reader = JSONReader(bytes, depthLimit: depthLimit)
        self = try reader.value()
        try reader.expectEnd()
    }

    /// Parses bytes that hold exactly one value.
    public init(parsing bytes: [UInt8], depthLimit: Int = 64) throws(JSONError) {
        self = try bytes.span.withUnsafeBytes { (bytes) throws(JSONError) in
            try JSON(parsing: bytes, depthLimit: depthLimit)
        }
    }
}
