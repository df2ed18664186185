import BusJSON

/// Bytes that are written once for several connections. Each knows how far it has been given them: what came together is put
/// into its outbox as one piece, when the turn ends or before anything else is written for it.
final class SharedRun {
    @exclusivity(unchecked) var bytes: ByteWriter

    init(_ bytes: ByteWriter) { self.bytes = bytes }
}
