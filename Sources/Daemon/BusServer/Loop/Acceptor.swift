/// A door in the event loop, through which clients come in: a listening socket, or the room where TCP clients wait until
/// they have said who they are.
struct Acceptor {
    /// Marks tokens that stand for acceptors; the rest of the token is the index among them.
    static let tokenMark: UInt64 = 1 << 63

    enum Door {
        case listener(Listener)
        case strangers(Strangers)
    }

    let door: Door
    let token: UInt64

    init(_ door: Door, index: Int) {
        self.door = door
        token = Acceptor.tokenMark | UInt64(index)
    }

    var listener: Listener? { if case .listener(let listener) = door { listener } else { nil } }
    var strangers: Strangers? { if case .strangers(let strangers) = door { strangers } else { nil } }
}
