/// Says that a reducer could not be asked because its sub-state is not there, so that it may still be found whether the
/// action was somebody else's.
struct AbsentPart: Error {
    /// What it comes to if it was nobody's.
    let error: FluxError
}
