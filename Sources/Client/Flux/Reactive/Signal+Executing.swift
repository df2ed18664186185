extension Signal {
    /// The same values, handed on by `executor`, one after another and in order. After the observation is disposed of,
    /// nothing comes, not even what was already in line.
    public func on(_ executor: Executor) -> Signal<Value> {
        Signal { receive in
            let mailbox = Mailbox(executor: executor, receive: receive)
            let source = self.attach { mailbox.post($0) }
            // Held by the source and by work in line only: a disposable that outlives both keeps nothing of the observer.
            return Disposable(endingWith: mailbox) { [weak mailbox] in
                mailbox?.close()
                source.dispose()
            }
        }
    }
}
