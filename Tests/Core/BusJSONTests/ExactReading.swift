import BusJSON
import TestSupport

/// Reads `bytes` where a read behind their end crashes.
func readExactly(_ bytes: [UInt8], depthLimit: Int = 64) -> Result<JSON, JSONError> {
    precondition(bytes.count <= GuardedMemory.size, "Tests read lines of at most a MiB.")
    let memory = GuardedMemory.take()
    defer { memory.giveBack() }
    return memory.withCopy(of: bytes) { copy in
        do throws(JSONError) {
            return .success(try JSON(parsing: copy, depthLimit: depthLimit))
        } catch {
            return .failure(error)
        }
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
