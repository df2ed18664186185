/// What is kept for a connection and will become output: it counts as that while it is kept.
protocol CountedOutput: AnyObject {
    /// What it counts as; set by `Connections` alone.
    var countedBytes: Int { get set }
}
