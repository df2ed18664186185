import Synchronization

extension Signal {
    /// Each value, transformed.
    @inlinable
    public func map<Other: Sendable>(_ transform: @escaping @Sendable (Value) -> Other) -> Signal<Other> {
        Signal<Other>(keepsRepeats: keepsRepeats) { isWanted, receive in
            self.attach(isWanted) { receive($0.map(transform)) }
        }
    }

    /// The values for which `condition` holds.
    ///
    /// ```swift
    /// temperature.signal.only(where: { $0 > 30 }).observe { … }
    /// ```
    @inlinable
    public func only(where condition: @escaping @Sendable (Value) -> Bool) -> Signal<Value> {
        Signal(keepsRepeats: keepsRepeats) { isWanted, receive in
            self.attach(isWanted) { emission in
                if case .value(let value) = emission, !condition(value) { return }
                receive(emission)
            }
        }
    }

    /// The values for which `condition` does not hold.
    @inlinable
    public func skip(where condition: @escaping @Sendable (Value) -> Bool) -> Signal<Value> {
        only { !condition($0) }
    }

    /// The first value, and each later one for which `condition` holds between the previous value and itself.
    @inlinable
    public func only(when condition: @escaping @Sendable (_ old: Value, _ new: Value) -> Bool) -> Signal<
        Value
    > {
        Signal(keepsRepeats: keepsRepeats) { isWanted, receive in
            let last = Mutex<Value?>(nil)
            return self.attach(isWanted) { emission in
                if case .value(let value) = emission {
                    let old = last.withLock { last in
                        defer { last = value }
                        return last
                    }
                    if let old, !condition(old, value) { return }
                }
                receive(emission)
            }
        }
    }

    /// The first value, and each later one for which `condition` does not hold between the previous value and itself.
    @inlinable
    public func skip(when condition: @escaping @Sendable (_ old: Value, _ new: Value) -> Bool) -> Signal<
        Value
    > {
        only { !condition($0, $1) }
    }

    /// Without values that repeat the previous one, according to `areSame`.
    @inlinable
    public func skipRepeats(by areSame: @escaping @Sendable (Value, Value) -> Bool) -> Signal<Value> {
        skip(when: areSame)
    }

    /// One part of each value. A part that equals the previous one is skipped, if it can be compared.
    @inlinable
    public func select<Part: Sendable>(_ part: @escaping @Sendable (Value) -> Part) -> Signal<Part> {
        let parts = map(part)
        return keepsRepeats ? parts : parts.skippingEqualValues()
    }

    /// One member of each value. A value that equals the previous one is skipped, if it can be compared.
    @inlinable
    public func select<Part: Sendable>(_ keyPath: KeyPath<Value, Part> & Sendable) -> Signal<Part> {
        select { $0[keyPath: keyPath] }
    }

    /// Without repeats if values can be compared, else all of them.
    @inlinable
    func skippingEqualValues() -> Signal<Value> {
        guard !isDistinct, Equality.isKnown(of: Value.self) else { return self }
        return skipRepeats { Equality.areEqual($0, $1) }
    }
}

extension Signal where Value: Equatable {
    /// Without values that equal the previous one. `nil` is a value like any other.
    @inlinable
    public func skipRepeats() -> Signal<Value> { skipRepeats(by: ==) }
}

extension Signal {
    /// The same values, delivered by `executor`, one after another and in order. After the observation is disposed of,
    /// nothing is delivered, not even what was already queued.
    public func on(_ executor: FluxExecutor) -> Signal<Value> {
        Signal(keepsRepeats: keepsRepeats) { isWanted, receive in
            let mailbox = Mailbox(executor: executor, receive: receive)
            let source = self.attach(isWanted) { mailbox.post($0) }
            // Held by the source and by queued work only: a disposable that outlives both
            // keeps nothing of the observer.
            return Disposable(endingWith: mailbox) { [weak mailbox] in
                mailbox?.close()
                source.dispose()
            }
        }
    }
}
