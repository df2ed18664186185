/// Whole texts as values: nothing but white space may stand around the one value.
extension JSON {
    /// Parses a whole text that holds exactly one value.
    public init(parsing text: String, depthLimit: Int = 64) throws(JSONError) {
        var text = text
        let result: Result<JSON, JSONError> = text.withUTF8 { buffer in
            Self.parse(UnsafeRawBufferPointer(buffer), depthLimit: depthLimit)
        }
        self = try result.get()
    }

    /// Parses bytes that hold exactly one value.
    public init(parsing bytes: UnsafeRawBufferPointer, depthLimit: Int = 64) throws(JSONError) {
        self = try Self.parse(bytes, depthLimit: depthLimit).get()
    }

    /// Parses bytes that hold exactly one value.
    public init(parsing bytes: [UInt8], depthLimit: Int = 64) throws(JSONError) {
        let result: Result<JSON, JSONError> = bytes.withUnsafeBytes { Self.parse($0, depthLimit: depthLimit) }
        self = try result.get()
    }

    private static func parse(_ bytes: UnsafeRawBufferPointer, depthLimit: Int) -> Result<JSON, JSONError> {
        do throws(JSONError) {
            var reader = JSONReader(bytes, depthLimit: depthLimit)
            let value = try reader.value()
            try reader.expectEnd()
            return .success(value)
        } catch {
            return .failure(error)
        }
    }
}
