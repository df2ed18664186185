/// What commits are made in is kept for the next one; what only a large one needed is given back when no such comes any more.
extension SubscriptionHub {
    /// A large commit has been made: the next one may be as large.
    func scheduleTrim() { trimDeadline = clock.now + DaemonLimits.largeStorageKept }

    /// Gives back what large commits took, once the time has come.
    func trimIfDue() {
        guard let deadline = trimDeadline, deadline <= clock.now else { return }
        trimDeadline = nil
        machine.trimStorage()
        restricted.relax()
        for content in publication.contents.elements { content.relax() }
    }
}
