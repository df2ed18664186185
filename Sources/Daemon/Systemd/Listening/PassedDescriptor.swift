/// A descriptor that the manager passed to this process, with the name it goes by.
public struct PassedDescriptor: Sendable, Hashable {
    /// Open, and closed on exec. Who takes it owns it.
    public let descriptor: Int32
    /// The socket unit's `FileDescriptorName=`, or the name under which it was stored. Several may share one.
    public let name: String

    public init(descriptor: Int32, name: String) {
        self.descriptor = descriptor
        self.name = name
    }
}
