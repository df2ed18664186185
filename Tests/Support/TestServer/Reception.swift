/// What comes to somebody who waits for a line.
package enum Reception: Sendable {
    case line(String)
    /// The other end has ended the connection.
    case end
    /// Nothing, as long as anybody would wait.
    case nothing
    /// The connection is lost, with this error of the system.
    case broken(Int32)
}
