import BusJSON
import FluxBus

/// The lines of `dispatch --atomic -`: the elements of one batch.
enum BatchLines {
    /// Reads standard input to its end.
    static func read(_ descriptor: Int32) throws -> [JSON] {
        var input = InputLines(mostBlank: 1 << 20)
        var elements: [JSON] = []
        var bytes = 0
        while !input.hasEnded {
            try input.read(descriptor)
            while let line = try input.next() {
                bytes += line.count
                guard bytes <= InputLines.longestRequest else {
                    throw CommandFailure(
                        .refused, "Standard input is longer than a request may be; send less at once.")
                }
                guard let element = try? JSON(parsing: line, depthLimit: 256), element.object != nil else {
                    throw CommandFailure(
                        .refused, "Request \(elements.count + 1) of standard input is not a JSON object.")
                }
                elements.append(element)
            }
        }
        guard !elements.isEmpty else {
            throw CommandFailure(.refused, "Standard input holds no request; write one JSON object per line.")
        }
        return elements
    }

    /// The refusal of a batch, which says which of its requests was refused.
    static func explained(_ error: BusError) -> BusError {
        guard let index = error.details["index"]?.int else { return error }
        return BusError(
            error.code, "Request \(index + 1) of standard input: \(error.message)", details: error.details)
    }
}
