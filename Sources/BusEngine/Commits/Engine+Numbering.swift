/// The numbers of commits that were made before, elsewhere.
extension Engine {
    /// Makes the next commit the one after `revision`, so that what is carried out again from a record gets the number
    /// that it had, which expressions may read. The number may also go back by what one recorded commit took here in
    /// several steps. Only for an engine that nobody subscribes to: a subscriber's revisions have no holes.
    package func goOn(after revision: Int) {
        precondition(subscriptionCount == 0, "A bus with subscribers can't be numbered anew.")
        precondition(revision >= 0, "Revisions count from 1.")
        self.revision = revision
    }
}
