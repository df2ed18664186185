import BusJSON
import BusSource

/// `invariant`: conditions that every state satisfies.
extension DefinitionLoader {
    struct LoadedInvariant {
        let condition: ExpressionNode
        let otherwise: ExpressionNode
        let reads: StateReads
        let place: Place
    }

    mutating func loadInvariants(_ root: LocatedObject) throws(SourceError) -> [LoadedInvariant] {
        guard let source = root["invariant"] else { return [] }
        if case .scalar(.string(let text)) = source.content {
            throw source.failure("invariant must be a list, not a string. Write [\(text)].")
        }
        var loaded: [LoadedInvariant] = []
        for element in try source.array("invariant") {
            let invariant = mistakes.collect { () throws(SourceError) in try loadInvariant(element) }
            if let invariant { loaded.append(invariant) }
        }
        return loaded
    }

    private mutating func loadInvariant(_ source: LocatedValue) throws(SourceError) -> LoadedInvariant {
        let scope = ExpressionScope(data: .state, shape: shape)
        var compiler = stateCompiler()
        defer { usesText = usesText || compiler.hasText }
        if case .scalar(.string(let text)) = source.content {
            let condition = try loadCondition(source, in: scope, &compiler)
            let shown = text.drop { $0 == "=" || $0 == " " }
            return LoadedInvariant(
                condition: condition,
                otherwise: LiteralNode(.string("\(shown) would not hold")),
                reads: compiler.reads, place: source.place)
        }
        guard case .object(let object) = source.content,
            object.member("if") != nil || object.member("else") != nil
        else {
            throw source.failure(
                "each element of invariant is a text, or has an if; write { if: …, else: … }.")
        }
        try object.refuseMembers(besides: ["if", "else"], of: "invariant")
        let condition = try loadCondition(
            object.required("if", of: "An element of invariant"), in: scope, &compiler)
        // What the reason reads is looked at only where the condition does not hold.
        let reads = compiler.reads
        let otherwise: ExpressionNode =
            if let source = object["else"] {
                try compiler.compile(source, in: scope)
            } else {
                LiteralNode("an invariant would not hold")
            }
        return LoadedInvariant(
            condition: condition, otherwise: otherwise, reads: reads, place: source.place)
    }

    /// Compiles what is about a state alone.
    func stateCompiler() -> ExpressionCompiler {
        compiler(ExpressionReview(mistakes, names: knownNames, schema: parts.schema, payload: nil))
    }

    /// Doubts invariants that a new store would break.
    func checkInvariants(_ loaded: [LoadedInvariant]) {
        guard !loaded.isEmpty, mistakes.isEmpty else { return }
        var budget = Budget.unlimited
        guard let initial = try? parts.computed.added(to: parts.plain, spending: &budget) else { return }
        for (invariant, source) in zip(parts.invariants.entries, loaded) {
            let (result, _) = Evaluation.run(on: initial, budget) {
                (evaluation) throws(Invariants.Breach) in
                try Invariants(entries: [invariant]).check(.max, &evaluation)
            }
            switch result {
            case .success: break
            case .failure(.broken(let reason, _)):
                mistakes.doubt("A new store breaks this invariant (\(reason)).", at: source.place)
            case .failure(.failed(let failure)):
                mistakes.doubt("For a new store this invariant fails: \(failure).", at: source.place)
            }
        }
    }
}
