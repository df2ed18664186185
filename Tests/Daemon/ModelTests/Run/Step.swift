import BusJSON

/// One step of a run, as data, so that a run that fails can be made again without the steps that do not matter.
enum Step {
    case connect(client: Int, uid: Int, session: String?, linger: Int)
    case close(client: Int)
    case send(client: Int, JSONObject)
    case subscribe(client: Int, JSONObject)
    case unsubscribe(client: Int, sub: Int)
    case reading(client: Int, Bool)
    case advance(milliseconds: Int)
    case handOver
    case crash
    case reload([JSON])
}

/// Where the bus differs from the model.
struct Difference: Error, CustomStringConvertible {
    /// What is compared; the same for differences of one cause, as far as that can be seen.
    let subject: String
    let model: String
    let bus: String

    var description: String { "\(subject)\n  model: \(model)\n  bus:   \(bus)" }
}
