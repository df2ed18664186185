/// The manager's descriptor store: descriptors that outlive the process and come back to the next one, by name.
///
/// The manager keeps at most `FileDescriptorStoreMax=` of them and silently drops the rest; what is stored comes back
/// through ``ListenDescriptors`` after a restart, also after a crash, but not after a stop and a start.
extension Notifier {
    /// Stores descriptors under one name. They stay open here, and belong to the caller as before.
    ///
    /// ```swift
    /// let state = try StoredState.write(bytes, name: "fluxbus-state")
    /// try notifier.store([state], name: "state")
    /// close(state)
    /// ```
    ///
    /// - Parameters:
    ///   - name: At most 255 printable ASCII characters without `:`.
    ///   - droppingDead: Whether the manager closes a descriptor by itself when its peer hangs up. False for
    ///     descriptors that are complete without a peer, such as a ``DescriptorBundle``.
    public func store(
        _ descriptors: [Int32], name: String, droppingDead: Bool = true
    ) throws(SystemdError) {
        try Self.check(name: name)
        var messages = [Message("FDSTORE", "1"), Message("FDNAME", name)]
        if !droppingDead { messages.append(Message("FDPOLL", "0")) }
        var rest = descriptors[...]
        while !rest.isEmpty {
            let part = rest.prefix(DescriptorBundle.mostPerMessage)
            try send(messages, descriptors: Array(part))
            rest = rest.dropFirst(part.count)
        }
    }

    /// Lets the manager close all descriptors of this name. Until then the peer of a stored connection sees no end,
    /// even if the service has closed it.
    public func removeStored(named name: String) throws(SystemdError) {
        try send(Self.removal(ofStored: name))
    }

    /// What ``removeStored(named:)`` sends.
    public static func removal(ofStored name: String) throws(SystemdError) -> [Message] {
        try check(name: name)
        return [Message("FDSTOREREMOVE", "1"), Message("FDNAME", name)]
    }

    private static func check(name: String) throws(SystemdError) {
        let isFine = name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: ":") }
        guard isFine, !name.isEmpty, name.utf8.count <= 255 else {
            throw SystemdError(
                .name,
                "`\(name)` can't name stored descriptors; use up to 255 printable ASCII characters without \":\"."
            )
        }
    }
}
