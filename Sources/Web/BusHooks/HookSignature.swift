import BusEffects
import BusSource
import FoundationEssentials

/// How a request is signed: by an HMAC with SHA-256 of its body in a header, alone or with the time at which it was made. Pure: it
/// reads the header, and whoever has the secret computes what should stand there.
package struct HookSignature: Sendable {
    package enum Encoding: String, Sendable, CaseIterable { case hex, base64 }

    package enum Form: String, Sendable, CaseIterable {
        /// One signature of the body, behind its prefix.
        case plain
        /// `t=TIME,v1=SIGNATURE`, which signs `TIME.BODY`; other parts mean nothing.
        case stripe
    }

    /// What a header shows.
    package struct Shown: Equatable, Sendable {
        /// Signatures, of which one has to be right.
        package let codes: [[UInt8]]
        /// What stands before the body in what is signed.
        package let start: [UInt8]
        /// Seconds since 1970; nil where the form has none.
        package let time: Int?

        package init(codes: [[UInt8]], start: [UInt8], time: Int?) {
            (self.codes, self.start, self.time) = (codes, start, time)
        }
    }

    /// In small letters.
    package let header: String
    package let encoding: Encoding
    package let form: Form
    package let tolerance: Duration
    /// Where the secret is, and what stands before a signature.
    package let file: EffectFile

    package static let keys = ["header", "prefix", "algorithm", "encoding", "form", "tolerance"]
    /// The bytes of a signature with SHA-256.
    private static let length = 32

    init(_ object: LocatedObject) throws(SourceError) {
        file = try EffectFile(object, of: "signature", besides: Self.keys)
        header = try HookLoader.header(object.required("header", of: "signature"))
        _ = try object["algorithm"]?.word("algorithm", among: ["sha256"])
        let encoding = try object["encoding"]?.word("encoding", among: Encoding.allCases.map(\.rawValue))
        self.encoding = encoding.flatMap(Encoding.init) ?? .hex
        let form = try object["form"]?.word("form", among: Form.allCases.map(\.rawValue))
        self.form = form.flatMap(Form.init) ?? .plain
        if let prefix = object.member("prefix"), self.form == .stripe {
            throw SourceError(
                "Signatures of the form stripe stand behind v1=; leave prefix out.", at: prefix.place)
        }
        if let tolerance = object.member("tolerance"), self.form == .plain {
            throw SourceError(
                "A plain signature has no time to tolerate; leave tolerance out, or write form: stripe.",
                at: tolerance.place)
        }
        tolerance =
            try object["tolerance"]?.duration("tolerance", in: .seconds(1)...HookLimits.longestTolerance)
            ?? HookLimits.tolerance
    }

    /// What a header's value shows; nil where it is not of this form.
    package func shown(in value: String) -> Shown? {
        switch form {
        case .plain:
            guard value.utf8.starts(with: file.prefix.utf8) else { return nil }
            let code = self.code(value.utf8.dropFirst(file.prefix.utf8.count))
            return code.map { Shown(codes: [$0], start: [], time: nil) }
        case .stripe: return stamped(value)
        }
    }

    /// Whether a time of a signature is near enough to now, both in seconds since 1970.
    package func isTimely(_ time: Int, now: Int) -> Bool {
        let (distance, isFar) = time.subtractingReportingOverflow(now)
        return !isFar && distance.magnitude <= UInt(tolerance.components.seconds)
    }

    private func stamped(_ value: String) -> Shown? {
        var (codes, time): ([[UInt8]], Substring.UTF8View?) = ([], nil)
        for part in value.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            let part = part.drop { $0 == UInt8(ascii: " ") }
            guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            let text = part[part.index(after: equals)...]
            switch String(Substring(part[..<equals])) {
            case "t":
                // Two times would be read one way here and another way by the sender.
                guard time == nil else { return nil }
                time = text
            case "v1":
                guard codes.count < HookLimits.signatures, let code = code(text) else { return nil }
                codes.append(code)
            default: continue
            }
        }
        guard let time, !codes.isEmpty, time.allSatisfy({ (0x30...0x39).contains($0) }),
            let seconds = Int(Substring(time))
        else { return nil }
        return Shown(codes: codes, start: Array(time) + [UInt8(ascii: ".")], time: seconds)
    }

    private func code(_ text: Substring.UTF8View) -> [UInt8]? {
        var code: [UInt8] = []
        switch encoding {
        case .hex:
            let digits = text.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
            guard digits.count == text.count, digits.count == 2 * Self.length else { return nil }
            for index in stride(from: 0, to: digits.count, by: 2) {
                code.append(UInt8(digits[index] << 4 | digits[index + 1]))
            }
        case .base64: code = Data(base64Encoded: Data(text)).map(Array.init) ?? []
        }
        return code.count == Self.length ? code : nil
    }
}
