import BusJSON
import BusLogic
import BusProtocol
import BusState
import BusTypes
import Flux

extension CompiledType {
    /// The cost of reading and writing a state, of the commit's operations: one for so many of its bytes, as a power of
    /// two. A simple action over a million small stores fits; one over thousands of large ones does not.
    private static var bytesPerOperation: Int { 3 }

    package func commit(
        _ action: Int, payload: JSONObject, to draft: inout Draft, in context: CommitContext
    ) throws(Rejection) -> Bool {
        context.budget.operations &-= draft.size >> Self.bytesPerOperation
        // The engine refuses a commit that has spent too much, so there is no use in continuing.
        if context.budget.operations < 0 { return true }
        draft.become(try changed(draft.current, by: action, payload, in: context))
        return true
    }

    /// The state that the mutations make of the old one.
    private func changed(
        _ old: JSONObject, by index: Int, _ payload: JSONObject, in context: CommitContext
    ) throws(Rejection) -> JSONObject {
        let action: State.Action
        do throws(PayloadFailure) {
            action = try decoded(index, payload)
        } catch {
            throw rejection(of: index, in: context, error.message)
        }
        var state: State
        do {
            state = try State.state(from: .object(old))
        } catch {
            throw rejection(of: index, in: context, "its state can't be read, \(error)")
        }
        let before = timerChanges == nil ? nil : state
        do {
            try mutations.commit(action, to: &state)
        } catch {
            throw rejection(of: index, in: context, CompiledTypeText.reason(error))
        }
        if let before, let reason = changeTimers(by: action, before, in: context) {
            throw rejection(of: index, in: context, reason)
        }
        do {
            return try Self.object(of: state)
        } catch {
            throw rejection(of: index, in: context, "the new state can't be written, \(error)")
        }
    }

    private func rejection(of action: Int, in context: CommitContext, _ reason: String) -> Rejection {
        let store = context.reader.address(of: context.store)
        let end = CompiledTypeText.end(of: reason)
        return Rejection(
            message: "\(store) refused \(actionNames[action]): \(reason)\(end)", store: store,
            action: actionNames[action])
    }
}

/// Errors of user code, worded as sentences of the bus.
enum CompiledTypeText {
    /// The error's own description.
    static func reason(_ error: any Error) -> String {
        let text = "\(error)"
        return text.isEmpty ? "its mutation failed" : text
    }

    static func sentence(_ error: any Error) -> String { reason(error) + end(of: reason(error)) }

    /// The full stop that a sentence lacks.
    static func end(of text: String) -> String { text.last.map { ".!?".contains($0) } == true ? "" : "." }
}
