import TestFiles

extension TemporaryDirectory {
    /// A types directory with one type, `counter`, which counts, keeps a note, refuses and does nothing.
    package func writeCounter() throws {
        try write(
            "types/counter.yaml",
            """
            type: counter
            initial: { count: 0, note: "" }
            actions:
              increment:
                payload: { by: { type: integer, default: 1 } }
                increment: { count: { var: payload.by } }
              write:
                payload: { text: string }
                set: { note: { var: payload.text } }
              limit:
                payload: { by: integer }
                require:
                  - if: { "<=": [{ var: payload.by }, 5] }
                    else: by must be at most 5
                increment: { count: { var: payload.by } }
              ring: {}
            """)
    }
}
