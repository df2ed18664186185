import TestFiles

extension TemporaryDirectory {
    /// A types directory with one type, `counter`.
    func writeCounter() throws {
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
            """)
    }
}
