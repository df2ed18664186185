/// State types that attacks need beside `counter`, as files of definitions.
enum HostileTypes {
    /// By the names of their files.
    static let all: [(file: String, text: String)] =
        [
            ("\(Innocent.type).yaml", counter(Innocent.type)), ("vase.yaml", counter("vase")),
            (
                "blob.yaml",
                """
                type: blob
                initial: { value: null }
                actions:
                  put:
                    payload: { value: any }
                    set: { value: { var: payload.value } }

                """
            ), ("bomb.yaml", bomb), ("operand.yaml", Attack.operandDefinition),
        ]

    /// Types whose definitions together nearly fill a line.
    static let wide: [(file: String, text: String)] = (0..<30).map { ("wide\($0).yaml", wide($0)) }

    private static func counter(_ name: String) -> String {
        """
        type: \(name)
        initial: { count: 0 }
        actions:
          increment:
            increment: { count: 1 }

        """
    }

    /// Some 40,000 operations a store: over 400 stores about as many as one commit may take.
    private static var bomb: String {
        let row = "[" + (0..<100).map(String.init).joined(separator: ",") + "]"
        let rows = Array(repeating: row, count: 100).joined(separator: ",")
        return """
            type: bomb
            initial: { total: 0, rows: [\(rows)] }
            actions:
              explode:
                set:
                  total:
                    reduce:
                      - { map: [{ var: state.rows }, { reduce: [{ var: "" }, { "+": [{ var: current }, { var: accumulator }] }, 0] }] }
                      - { "+": [{ var: current }, { var: accumulator }] }
                      - 0

            """
    }

    private static func wide(_ number: Int) -> String {
        let actions = (0..<200).map { index in
            let summary = String(repeating: "Long words about little. ", count: 4)
            return "  act\(index): { summary: \"\(summary)\", increment: { count: 1 } }"
        }
        return "type: wide\(number)\ninitial: { count: 0 }\nactions:\n" + actions.joined(separator: "\n")
            + "\n"
    }
}
