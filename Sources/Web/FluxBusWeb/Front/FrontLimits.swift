/// What the front allows before it ends a connection. Each keeps one peer from taking what all share.
package struct FrontLimits: Sendable {
    /// Connections at a time. A page has up to eight; a quarter of a thousand are thirty browsers.
    package var connections = 256
    /// Bytes of a request up to its empty line: browsers send one or two thousand, with cookies of neighbours more.
    package var head = 16 << 10
    /// Header fields of a request.
    package var fields = 100
    /// Bytes of a request's target.
    package var target = 2048
    /// Bytes of a request's body: the largest is a token.
    package var body = 16 << 10
    /// Bytes that wait in one direction of a connection.
    package var buffer = 64 << 10
    /// How long a request may take to arrive, from the first byte (or the TLS handshake, from the connection).
    package var opening: Duration = .seconds(10)
    /// How long a connection may stay without a request, or leave an answer unread.
    package var idle: Duration = .seconds(60)
    /// How long a connection that is over may take to be read to its end.
    package var ending: Duration = .seconds(2)
    /// How long the server's answer for a client that is gone may take. It is longer than anything waits for the bus.
    package var draining: Duration = .seconds(30)

    package init() {}
}
