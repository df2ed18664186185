/// A commit looks at each live subscription that it concerns, if only to let it fall behind, and that can't be interrupted.
/// Where there are very many, a turn keeps room for it, so that a commit late in the turn does not exceed it.
extension SubscriptionHub {
    /// A group has one subscriber more or less: it may have become a crowd, or be one no longer.
    func noteCrowd(_ group: SubscriberGroup) {
        let isCrowd = group.subscribers.count >= DaemonLimits.crowd
        if isCrowd == group.isCrowd { return }
        group.isCrowd = isCrowd
        if isCrowd { crowds.append(group) } else { crowds.removeAll { $0 === group } }
    }

    /// The work of publishing a commit that concerns all crowds, with the slice in which it is made and one in which others
    /// come to take live changes.
    var mostPublishing: Int {
        if crowds.isEmpty { return 0 }
        let telling = crowds.reduce(0) {
            // Events of actions can't be merged, so they are delivered however many there are.
            $0 &+ $1.liveCount &* ($1.key.actions ? Work.delivery : Work.fall)
        }
        return telling &+ DaemonLimits.liveWork &+ 2 &* clock.limits.sliceWork
    }
}
