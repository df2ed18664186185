import BusJSON
import FluxBusDaemon

/// The same state twice: declared, and compiled. `WireEqualityTests` holds them against each other.
///
/// A JSON Patch may lead to the same state in several ways, and which one a declared type takes follows from what its
/// definition writes. This one writes exactly what differs, as a compiled type does.
struct Tally: SharedState {
    var count = 0
    var label = "none"
    var ratio = 0.5
    var log: [Entry] = []
    var items: [String: JSON] = [:]

    struct Entry: Codable, Sendable { var text: String, by: Int }

    enum Action: Codable, Sendable {
        case increment(by: Int = 1)
        case setLabel(text: String, suffix: String? = nil)
        case setRatio(to: Double)
        case note(text: String, by: Int = 7)
        case clear
        case put(key: String, value: JSON)
        case take(key: String)
        case spoil(deep: Bool = true)
        case ring
    }

    static let actions = ActionList<Tally>(.increment(), .clear, .spoil(), .ring)
        .requiring { .setLabel(text: $0) }
        .requiring { .setRatio(to: $0) }
        .requiring { .note(text: $0) }
        .requiring { .put(key: $0, value: $1) }
        .requiring { .take(key: $0) }

    static let published: PublishedValues<Tally> = [
        "isEven": { $0.count.isMultiple(of: 2) }, "entries": { $0.log.count },
    ]

    struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    struct Mutations: Flux.Mutations {
        func commit(_ action: Tally.Action, to state: inout Tally) throws {
            switch action {
            case .increment(let amount):
                guard (-1000...1000).contains(amount) else {
                    throw Refusal(description: "by must be within -1000...1000")
                }
                state.count += amount
            case .setLabel(let text, let suffix): state.label = text + (suffix ?? "")
            case .setRatio(let ratio): state.ratio = ratio
            case .note(let text, let number): state.log.append(Entry(text: text, by: number))
            case .clear: state.log = []
            case .put(let key, let value): state.items[key] = value
            case .take(let key):
                if state.items[key]?.isNull == false { state.items[key] = nil }
            case .spoil:
                (state.label, state.log) = ("spoilt", [])
                throw Refusal(description: "Spoiling is never allowed!")
            case .ring: break
            }
        }
    }

    static let declared = """
        type: tally
        initial: { count: 0, label: none, ratio: 0.5, log: [], items: {} }
        computed:
          isEven: { "==": [{ "%": [{ var: count }, 2] }, 0] }
          entries: { reduce: [{ var: log }, { "+": [{ var: accumulator }, 1] }, 0] }
        actions:
          increment:
            payload: { by: { type: integer, default: 1 } }
            require:
              - if: { "<=": [-1000, { var: payload.by }, 1000] }
                else: by must be within -1000...1000
            increment: { count: { var: payload.by } }
          setLabel:
            payload: { text: string, suffix: string? }
            set: { label: { cat: [{ var: payload.text }, { var: payload.suffix }] } }
          setRatio:
            payload: { to: number }
            set: { ratio: { var: payload.to } }
          note:
            payload: { text: string, by: { type: integer, default: 7 } }
            append: { log: { object: { text: { var: payload.text }, by: { var: payload.by } } } }
          clear:
            when: { var: state.log }
            set: { log: [] }
          put:
            payload: { key: string, value: any }
            set: { "items.{payload.key}": { var: payload.value } }
          take:
            payload: { key: string }
            when: { "!==": [{ val: [state, items, { var: payload.key }] }, null] }
            unset: ["items.{payload.key}"]
          spoil:
            payload: { deep: { type: boolean, default: true } }
            require: [{ if: { literal: false }, else: "Spoiling is never allowed!" }]
            set: { label: spoilt }
          ring: {}
        """
}
