extension Duration {
    /// Whole nanoseconds, at most as many as an `Int` holds.
    package var inNanoseconds: Int {
        let (seconds, attoseconds) = components
        let (whole, overflow) = Int(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max / 2 : whole + Int(attoseconds / 1_000_000_000)
    }
}
