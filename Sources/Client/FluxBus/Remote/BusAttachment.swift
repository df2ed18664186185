import BusJSON
import BusTypes
import Dispatch
import Flux
import Synchronization

/// The tie between the local stores of a type and the bus: while it lasts, `Store<S>.actions` goes to every process.
///
/// ```swift
/// let local = Store<Counter>(state: Counter())
/// let attachment = try await bus.attach(Counter.self)
/// Store<Counter>.actions.increment()     // every counter on the bus, and `local` here and in every attached process
/// ```
///
/// Actions for all stores of the type, whichever process dispatched them, come back from the bus and are committed to
/// the local stores in the order of their revisions; so all processes see the same order. Actions to a single store of
/// the bus are not for the local ones, nor are those for the stores for which an expression holds, which ``problems`` reports.
/// Instance actions of a local store stay local. Actions from the bus do not set the timers of local
/// stores (``Flux/State/timers``), because the bus sets timers for its own stores only.
///
/// It ends with `detach()`, when it is released, when the bus ends, or when actions were missed: those dispatched while the
/// connection was lost come from the bus's log afterwards; a bus that has none, or no longer has them, can't tell them, and
/// local stores without them would be wrong for good. ``problems`` tells of it, ``BusAttachment/Problem/gap(revision:)`` and then
/// ``BusAttachment/Problem/ended(_:)`` with the code `gap`; attach new stores that begin with the states of the bus.
public final class BusAttachment<State: SharedState>: Sendable {
    /// Problems of an attachment.
    public enum Problem: Sendable {
        /// The bus refused an action, or its outcome can't be known.
        case refused(State.Action, BusError)
        /// An action came that this program's type does not know, or that is for the stores for which an expression holds;
        /// local stores skip it.
        case unfit(revision: Int, BusError)
        /// Actions before this revision were missed and are no longer available. The attachment has ended.
        case gap(revision: Int)
        /// The bus ended, or actions were missed: the attachment has ended.
        case ended(BusError?)
    }

    private let store: StoreAttachment<State>
    private let subscription: SubscriptionHandle
    private let sink: Sink<Problem>

    init(_ store: StoreAttachment<State>, _ subscription: SubscriptionHandle, _ sink: Sink<Problem>) {
        self.store = store
        self.subscription = subscription
        self.sink = sink
    }

    deinit { detach() }

    /// Problems from now on, until it ends.
    public var problems: Signal<Problem> { sink.signal }

    /// Detaches: `Store<S>.actions` is for this process's stores again.
    public func detach() {
        subscription.cancel()
        store.detach()
        sink.finish()
    }
}

extension Bus {
    /// Attaches the local stores of a type to the bus; see ``BusAttachment``. Throws `unknown_type` if the bus does not
    /// have the type, `exists` if it is attached already.
    public func attach<State: SharedState>(_ type: State.Type) async throws(BusError) -> BusAttachment<State>
    {
        let sink = Sink<BusAttachment<State>.Problem>()
        // Mutations and observers run here, never on the bus's thread. The queue is suspended until the local stores
        // are attached, so that an action that goes to the bus from then on also comes back.
        let queue = DispatchQueue(label: "fluxbus.attachment")
        let place = AttachmentPlace<State>()
        queue.suspend()
        defer { queue.resume() }
        var options = SubscriptionOptions()
        options.wantsActions = true
        let subscription = try await subscribe(to: .type(State.typeName), options: options) { event in
            queue.async { place.store.map { Self.take(event, $0, sink) } }
        }
        do {
            let store = try Store<State>.attach { [weak self] action in
                @Sendable func refuse(_ error: BusError) {
                    queue.async { sink.send(.refused(action, error)) }
                }
                guard let self else {
                    return refuse(
                        BusError(.closed, "The bus is gone; connect again and attach the type again."))
                }
                actions(of: State.self, onFailure: refuse).dispatch(action)
            }
            place.store = store
            return BusAttachment(store, subscription, sink)
        } catch {
            throw BusError(.exists, "\(error)")
        }
    }

    private static func take<State: SharedState>(
        _ event: SubscriptionEvent, _ store: StoreAttachment<State>,
        _ sink: Sink<BusAttachment<State>.Problem>
    ) {
        switch event {
        case .action(let event) where event.object["where"] != nil:
            let error = BusError(
                .invalidRequest,
                "`\(event.action)` came with `where`, which can't be evaluated here; dispatch it without.")
            sink.send(.unfit(revision: event.revision, error))
        case .action(let event) where event.store == nil:
            do throws(JSONCodingError) {
                store.commit(try State.actions.action(named: event.action, payload: event.payload))
            } catch {
                sink.send(.unfit(revision: event.revision, BusError(.invalidPayload, "\(error)")))
            }
        case .gap(let revision):
            sink.send(.gap(revision: revision))
            end(
                BusError(
                    .gap,
                    "Actions for \(State.typeName) before revision \(revision) were missed; attach the type again, with "
                        + "local stores that begin with the states of the bus."), store, sink)
        case .ended(let error): end(error, store, sink)
        case .action, .change, .bookmark: break
        }
    }

    private static func end<State: SharedState>(
        _ error: BusError?, _ store: StoreAttachment<State>, _ sink: Sink<BusAttachment<State>.Problem>
    ) {
        store.detach()
        sink.send(.ended(error))
        sink.finish()
    }
}

/// Where an attachment's events find its local stores. They are attached after the subscription exists and its events
/// have begun to come; it holds them weakly, so that a lost attachment detaches itself.
final class AttachmentPlace<State: Flux.State>: Sendable {
    private struct Weak {
        weak var store: StoreAttachment<State>?
    }

    private let content = Mutex(Weak())

    var store: StoreAttachment<State>? {
        get { content.withLock { $0.store } }
        set { content.withLock { $0.store = newValue } }
    }
}
