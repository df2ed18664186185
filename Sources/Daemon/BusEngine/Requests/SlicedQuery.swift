import BusJSON
import BusMachine

/// A read that may take more than one slice. It is notified of stores created and dropped meanwhile.
protocol SlicedQuery: AnyObject {
    /// How much it has found so far.
    var count: Int { get }
    /// Goes on while `mayGoOn`, which is told the work of each step; true when it is done.
    func goOn(_ mayGoOn: (_ work: Int) -> Bool) -> Bool
    /// Writes the members of the reply, each behind a comma; false as soon as there is no room for more.
    func appendAnswer(to writer: ByteWriter, room: Int) -> Bool
    /// Begins again, because everything was replaced.
    func restart()
    /// A store was created. Returns the work of adding it.
    func add(_ store: Int32) -> Int
    /// Whether it depends on the states of stores that it has looked at.
    var followsChanges: Bool { get }
    /// A store has changed.
    func note(changed store: Int32)
    /// A store is dropped, whose record is still there. Returns the work of forgetting it.
    func forget(_ store: Int32) -> Int
}

extension StoreQuery: SlicedQuery {
    func goOn(_ mayGoOn: (_ work: Int) -> Bool) -> Bool {
        advance { step in
            switch step {
            case .types(let count): mayGoOn(count * Work.look)
            case .ordered: mayGoOn(Work.ordering)
            case .looked(let bytes): mayGoOn(Work.look + bytes)
            case .tested(let operations): mayGoOn(Work.operation * operations)
            }
        }
    }

    func appendAnswer(to writer: ByteWriter, room: Int) -> Bool { appendAnswer(to: writer) }

    func add(_ store: Int32) -> Int { noteCreated(store) * Work.look }

    func note(changed store: Int32) { noteChanged(store) }

    func forget(_ store: Int32) -> Int {
        defer { noteDropped(store) }
        return count
    }
}

extension TimerList: SlicedQuery {
    func goOn(_ mayGoOn: (_ work: Int) -> Bool) -> Bool {
        advance { step in
            switch step {
            case .looked: mayGoOn(Work.look)
            case .ordered(let count): mayGoOn(count * Work.ordering)
            }
        }
    }

    // A store's timers go with it, and what is set is found as others are.
    func add(_ store: Int32) -> Int { 0 }
    func forget(_ store: Int32) -> Int { 0 }
    var followsChanges: Bool { false }
    func note(changed store: Int32) {}
}
