import BusJSON
import BusLogic
import BusProtocol
import BusSource

extension LocatedValue {
    /// The name of what a file declares, such as `An effect`, in the member `key`; of at most so many bytes.
    package func name(_ key: String, of what: String, atMost longest: Int) throws(SourceError) -> String {
        let name = try string(key)
        guard Names.isTypeName(name), name.utf8.count <= longest else {
            throw failure("\(what) can't be called `\(name)`; \(Names.typeNameRule), at most \(longest).")
        }
        return name
    }

    /// A length of time within a range. `name` is what the value is called in the message: "timeout".
    package func duration(_ name: String, in range: ClosedRange<Duration>) throws(SourceError) -> Duration {
        let text: String? =
            switch content {
            case .scalar(.string(let text)): text
            case .scalar(.int(let number)): "\(number)"
            default: nil
            }
        guard let text, let milliseconds = DurationText.milliseconds(text),
            range.contains(.milliseconds(milliseconds))
        else {
            let (least, most) = (range.lowerBound.text, range.upperBound.text)
            throw failure(
                "\(name) must be a length of time such as 500ms, 30s or 5m, from \(least) to \(most).")
        }
        return .milliseconds(milliseconds)
    }
}

extension Duration {
    /// As people write it, in its largest unit: `10ms`, `24h`.
    package var text: String {
        for (unit, length) in [("h", 3600.0), ("m", 60), ("s", 1)] where seconds >= length {
            return "\(Int(seconds / length))\(unit)"
        }
        return "\(Int(seconds * 1000))ms"
    }
}
