import BusLogic

extension Budget {
    /// What was spent of it, where `rest` is left, in operations: as many as take as long.
    func operations(spentLeaving rest: Budget) -> Int {
        operations &- rest.operations &+ (reading &- rest.reading) / BusLimits.bytesPerOperation
    }
}
