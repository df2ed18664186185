extension Signal {
    /// The same values, handed on by `executor`, one after another and in order. After the observation is disposed of,
    /// nothing comes, not even what was already in line.
    public func on(_ executor: Executor) -> Signal<Value> {
        Signal { receive in
            let mailbox = Mailbox(executor: executor, receive: receive)
            let source = self.attach { mailbox.post($0) }
            return Disposable {
                mailbox.close()
                source.dispose()
            }
        }
    }
}
