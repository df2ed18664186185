import BusMachine

/// All users, each made when one of its clients is first seen. There are never more than identities.
final class Users {
    private let ownUID: Int
    private var known: [Identity: User] = [:]
    /// In the order in which they were first seen.
    private(set) var all: [User]

    /// Clients that have not said who they are.
    let strangers = User(nil, number: 0)
    /// The daemon itself: timers that fire, and what is done for nobody in particular.
    let daemon = User(nil, number: 1, isOperator: true)

    init(ownUID: Int) {
        self.ownUID = ownUID
        all = [strangers, daemon]
    }

    func user(_ identity: Identity?) -> User {
        guard let identity else { return strangers }
        if let user = known[identity] { return user }
        let user = User(identity, number: all.count, isOperator: isOperator(identity))
        known[identity] = user
        all.append(user)
        return user
    }

    /// Root and the daemon's own user.
    private func isOperator(_ identity: Identity) -> Bool {
        switch identity {
        case .uid(let uid), .user(let uid, _): uid == 0 || uid == ownUID
        case .token, .certificate: false
        }
    }
}
