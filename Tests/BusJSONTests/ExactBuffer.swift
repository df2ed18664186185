import BusJSON

/// Reads `bytes` out of heap memory of exactly their size, so that a read behind the end meets a guard when
/// the tests run under an address checker.
func readExactly(_ bytes: [UInt8], depthLimit: Int = 64) -> Result<JSON, JSONError> {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    defer { memory.deallocate() }
    memory.copyBytes(from: bytes)
    do throws(JSONError) {
        return .success(try JSON(parsing: UnsafeRawBufferPointer(memory), depthLimit: depthLimit))
    } catch {
        return .failure(error)
    }
}

func readExactly(_ text: String, depthLimit: Int = 64) -> Result<JSON, JSONError> {
    readExactly(Array(text.utf8), depthLimit: depthLimit)
}

extension Result where Failure == JSONError {
    /// Why the text was refused; nil when it was taken.
    var reason: JSONError.Reason? {
        if case .failure(let error) = self { error.reason } else { nil }
    }
}
