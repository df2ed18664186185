import BusJSON

/// The lines of the requests that a replay makes.
enum ReplayRequest {
    static func dispatch(_ actions: [JSON]) -> String {
        "{\"op\":\"dispatch\",\"actions\":\(JSON.array(actions).encoded)}"
    }

    static func create(_ address: String, _ state: JSON) -> String {
        "{\"op\":\"create\",\"store\":\(JSON.string(address).encoded),\"state\":\(state.encoded)}"
    }

    static func drop(_ address: String) -> String {
        "{\"op\":\"drop\",\"store\":\(JSON.string(address).encoded)}"
    }
}
