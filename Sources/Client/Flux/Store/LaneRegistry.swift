import Synchronization

/// One lane for each state type of the process. A generic type can't have stored static properties, hence the table.
enum LaneRegistry {
    private static let lanes = Mutex<[ObjectIdentifier: any Sendable]>([:])

    static func lane<State: Flux.State>(of type: State.Type) -> Lane<State> {
        lanes.withLock { lanes in
            if let lane = lanes[ObjectIdentifier(type)] as? Lane<State> { return lane }
            let lane = Lane<State>()
            lanes[ObjectIdentifier(type)] = lane
            return lane
        }
    }
}
