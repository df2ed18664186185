import BusJSON
import BusLogic

/// Something that the machine works out from the stores of types and brings up to date with each commit: a view, or an index.
class SourceReader {
    /// The types that it reads, by number.
    @exclusivity(unchecked) final var sources: Set<Int32>

    init(_ sources: Set<Int32>) { self.sources = sources }

    var bytes: Int { 0 }
    /// How many expressions it evaluates of a source at most.
    var expressions: Int { 0 }

    /// The operations that its expressions have taken so far, and by later rules its computed values; and the bytes
    /// that these have read.
    func spent(by rules: Int) -> (operations: Int, reading: Int) { (0, 0) }

    /// What a change of a member of a source means to it: nothing, where it does not read that.
    func bits(of member: String) -> UInt64 { 0 }

    /// A source may have changed in the members that these bits mean.
    func update(_ store: Int32, _ state: UnsafePointer<JSONObject>, changed: UInt64) {}

    /// Takes from a budget what the same call of `update` will spend. If it is too little, its operations are below zero then.
    func pay(
        for store: Int32, _ state: UnsafePointer<JSONObject>, changed: UInt64, from budget: inout Budget
    ) {}

    /// A source goes.
    func remove(_ store: Int32) {}
}
