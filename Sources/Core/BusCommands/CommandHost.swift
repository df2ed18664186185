import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Makes the commits of what was applied, and hears what else commands did: the daemon's engine, which notifies
/// subscribers and writes its log, or `PlainCommits`, which does neither.
package protocol CommandSink {
    /// Makes the commit of what the machine has applied, together with `details`.
    func commit(by principal: Principal, actions: Bool, key: KeyedRequest?, _ details: CommitDetails?)
    /// A will has been left or cleared, or a session named.
    func note(_ session: Session)
    /// A session has ended without a commit.
    func note(endOf session: SessionID)
    /// Something happened that operators want to read.
    func report(_ report: CommandReport)
}

/// A sink that also says what commits and notes came to, so that members of a shared bus can compare it.
package protocol CommitSink: AnyObject, CommandSink {
    /// Takes the output since the last call, byte for byte equal wherever equal entries were applied to an equal state.
    func takeOutput(_ body: (UnsafeRawBufferPointer) -> Void)
}

/// Where a command runs. On a bus of one machine it is the engine, which may still refuse or postpone a command; on a
/// shared bus the member that proposed it has decided that already, because all members have to come to one outcome.
package protocol CommandHost: CommandSink {
    /// How many bytes a reply may have that tells what a dispatch has changed.
    var replyRoom: Int { get }
    /// The caller's session, if it has been opened.
    var openSession: Session? { get }
    /// The caller's session, opened if need be.
    func session() -> Session
    /// Asked at every stage at which one machine alone may refuse. False: the command waits for its turn, and nothing
    /// has been done.
    func admit(_ stage: CommandStage) throws(RequestError) -> Bool
    /// Applies the plan; what fails is rolled back. Returns how many stores matched.
    func apply(by principal: Principal, spending operations: Int) throws(RequestError) -> Int
}

/// How far a command has come when its host is asked whether it goes on.
package enum CommandStage {
    /// All that needs no state is checked: from here on a command of a shared bus is executed by all members alike.
    case proposal(Claim = .none)
    /// It is no repetition of an earlier one, and would commit.
    case commit
    /// The machine's plan has what a dispatch reaches. `isTold`: the reply tells what it changes.
    case plan(isTold: Bool)
    /// A store may be created.
    case creation
    /// Its state is known.
    case state(bytes: Int)
    /// A timer may be set.
    case timer(BusTimer)
    /// A will with this number of actions is about to be read.
    case will(actions: Int)
    /// A will has been read.
    case readWill([JSON])
    /// The machine's plan has what a timer reaches.
    case firing
}

/// The room that a proposed command will need, so that the member that is asked can refuse it if there is none.
package enum Claim {
    case none
    /// Its actions have to fit into events.
    case events
    case timer, store
    /// A batch creates this many stores; `isEphemeral`: some of them are.
    case stores(Int, isEphemeral: Bool)
    case will([JSON])
}

/// What operators want to read of a command, besides its commit.
package enum CommandReport {
    case created(String, isEphemeral: Bool, by: Principal)
    case dropped(String, isEphemeral: Bool, by: Principal)
    /// The lease of the store at this address ended: no dispatch reached it for the given number of milliseconds.
    case expired(String, after: Int)
    /// A timer fired, and its action can't be committed.
    case timerRejected(BusTimer, action: String, by: Principal, RequestError)
    /// A session ended, and its will can't be committed.
    case willRejected(Session, RequestError)
}

/// Who sends a command, and what they may do.
package struct Caller {
    package let principal: Principal
    /// Root or the daemon's own user, on the machine that vouches for it.
    package let isOperator: Bool
    /// What the access rules allow; nil: there are none, or they don't apply to the daemon itself.
    package let grants: Grants?

    package init(_ principal: Principal, isOperator: Bool, grants: Grants?) {
        self.principal = principal
        self.isOperator = isOperator
        self.grants = grants
    }
}
