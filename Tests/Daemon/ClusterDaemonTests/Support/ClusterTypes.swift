/// The types of the tests' bus.
enum ClusterTypes {
    /// A ledger notes with each mark at which revisions it was entered: once, if all is well.
    private static let ledger = """
        type: ledger
        initial: { count: 0, last: "", marks: {} }
        actions:
          enter:
            payload: { mark: string }
            increment: { count: 1 }
            set:
              last: { var: payload.mark }
              "marks.{payload.mark}":
                cat:
                  - if:
                      - { val: [state, marks, { var: payload.mark }] }
                      - { cat: [{ val: [state, marks, { var: payload.mark }] }, " "] }
                      - ""
                  - { var: meta.revision }
        """

    private static let counter = """
        type: counter
        initial: { count: 0 }
        actions:
          increment:
            payload: { by: { type: integer, default: 1 } }
            increment: { count: { var: payload.by } }
          limit:
            payload: { by: integer }
            require:
              - if: { "<=": [{ var: payload.by }, 5] }
                else: by must be at most 5
            increment: { count: { var: payload.by } }
        """

    static let files = [("ledger.yaml", ledger), ("counter.yaml", counter)]

    /// Ledgers of the load, and one for wills.
    static let ledgers = (0..<24).map { "ledger/l\($0)" }
    static let wills = "ledger/wills"
    static let stores = ledgers + [wills, "counter/main"]
}
