import BusJSON
import BusState

/// The writes of an action that looks at nothing but its payload: no condition, values that are constants or stand
/// in the payload, paths that the definition names, no computed value that reads what is written, no write that
/// could break what states have to be.
///
/// Most actions are so. What they write is worked out once for all the stores of a dispatch, and a store then costs
/// its writes alone. A store for which they don't work out, or a payload, goes the way of any other action, which
/// finds the same and says why.
///
/// It belongs to one serial owner, and its writes serve one step after the other.
package final class PrecomputedWrites {
    /// A write whose value stands in the payload.
    private struct Reading {
        let write: Int
        let step: WriteStep
    }

    /// The writes, in order. Values from the payload stand there from `take` to `letGo`, else null.
    package let writes: UnsafeMutableBufferPointer<PrecomputedWrite>
    private let readings: [Reading]
    /// How many operations their values take for each store.
    package let operations: Int

    /// Nil for an action that is not so.
    init?(_ action: DeclaredAction, _ computed: ComputedValues) {
        guard let operations = action.plainOperations, action.returns == nil else { return nil }
        var writes: [PrecomputedWrite] = []
        var readings: [Reading] = []
        for (index, step) in action.steps.enumerated() {
            guard let path = step.fixed, let bits = step.bits, !computed.areWatched(by: bits),
                step.check == nil
            else { return nil }
            let constant = step.value.constant
            if let constant {
                guard step.mayHold(constant, at: path) else { return nil }
            } else {
                readings.append(Reading(write: index, step: step))
            }
            writes.append(PrecomputedWrite(step.kind, at: path, value: constant ?? .null))
        }
        self.writes = .allocate(capacity: writes.count)
        _ = self.writes.initialize(fromContentsOf: writes)
        self.readings = readings
        self.operations = operations
    }

    deinit {
        writes.deinitialize()
        writes.deallocate()
    }

    /// Takes the values that stand in a payload. False where one does not fit its place.
    package func take(_ payload: UnsafePointer<JSONObject>) -> Bool {
        for reading in readings.indices {
            let write = writes.baseAddress! + readings[reading].write
            let fits = Unmanaged.passUnretained(readings[reading].step)._withUnsafeGuaranteedRef { step in
                let value = Unmanaged.passUnretained(step.value)._withUnsafeGuaranteedRef {
                    $0.plainValue(payload)
                }
                guard step.mayHold(value, at: step.fixed!) else { return false }
                write.pointee.value = value
                return true
            }
            if !fits { return false }
        }
        return true
    }

    /// Lets go of the payload's values.
    package func letGo() {
        for reading in readings.indices { writes[readings[reading].write].value = .null }
    }
}

extension StateType {
    package func precomputedWrites(of action: Int) -> PrecomputedWrites? { nil }
}
