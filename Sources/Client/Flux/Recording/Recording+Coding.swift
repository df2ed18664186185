private enum RecordingKey: String, CodingKey { case version, start, steps }
private enum StepKey: String, CodingKey { case actions, time }

/// The form in which recordings are encoded. Another one gets another number.
private let recordingVersion = 1

extension Recording: Encodable where State.Action: Encodable {
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: RecordingKey.self)
        try members.encode(recordingVersion, forKey: .version)
        if let start = start as? any Encodable {
            try start.encode(to: members.superEncoder(forKey: .start))
        }
        try members.encode(steps, forKey: .steps)
    }
}

extension Recording: Decodable where State.Action: Decodable {
    /// Throws a `DecodingError` if a newer version of this library has made it, among others.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: RecordingKey.self)
        // The first recordings were without a number.
        let version = try members.decodeIfPresent(Int.self, forKey: .version) ?? 0
        guard version <= recordingVersion else {
            throw DecodingError.dataCorruptedError(
                forKey: .version, in: members,
                debugDescription: "The recording has version \(version), and this library knows those up to "
                    + "\(recordingVersion); update it.")
        }
        var start: State?
        if let type = State.self as? any Decodable.Type, members.contains(.start) {
            start = try type.init(from: members.superDecoder(forKey: .start)) as? State
        }
        self.init(from: start, steps: try members.decode([Step].self, forKey: .steps))
    }
}

extension Recording.Step: Encodable where State.Action: Encodable {
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: StepKey.self)
        try members.encode(actions, forKey: .actions)
        try members.encode(time, forKey: .time)
    }
}

extension Recording.Step: Decodable where State.Action: Decodable {
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: StepKey.self)
        self.init(
            actions: try members.decode([State.Action].self, forKey: .actions),
            time: try members.decodeIfPresent(Duration.self, forKey: .time) ?? .zero)
    }
}
