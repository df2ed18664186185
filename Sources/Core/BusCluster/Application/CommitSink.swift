import BusMachine
import BusProtocol

/// Whoever makes commits of what was applied: the daemon's engine, which notifies subscribers and writes its log, or
/// `PlainCommits`, which does neither.
package protocol CommitSink: AnyObject {
    /// Makes the commit of what the machine has applied, together with `details`.
    func commit(by principal: Principal, actions: Bool, key: KeyedRequest?, _ details: CommitDetails?)
    /// A will has been left or cleared, or a session named.
    func note(_ session: Session)
    /// A session has ended without a commit.
    func note(endOf session: SessionID)
    /// The will of a session that ends can't be committed.
    func noteRejection(of session: Session, _ error: RequestError)
    /// Takes what commits and notes came to since the last time, byte for byte the same wherever the same entries were
    /// applied to the same state.
    func takeOutput(_ body: (UnsafeRawBufferPointer) -> Void)
}
