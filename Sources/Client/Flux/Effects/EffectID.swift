/// The identity of a thunk: any value.
struct EffectID: Hashable, Sendable {
    let base: any Hashable & Sendable

    static func == (one: EffectID, other: EffectID) -> Bool {
        AnyHashable(one.base) == AnyHashable(other.base)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(AnyHashable(base)) }
}
