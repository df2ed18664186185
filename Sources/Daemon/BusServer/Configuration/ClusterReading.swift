import BusCluster
import BusProtocol
import BusSource

/// Reads `cluster:` of the configuration.
struct ClusterReading {
    private(set) var errors = ConfigurationErrors()
    private let file: String

    init(file: String) { self.file = file }

    static let members = [
        "bus", "etcd", "ca", "certificate", "key", "user", "password-file", "member", "advertise", "from",
        "lease",
    ]

    /// Shorter ones end where a machine is merely busy; longer ones keep the sessions of a dead one for no use. In milliseconds.
    private static let leases = 2000...600_000

    mutating func settings(_ cluster: LocatedObject.Member) -> ClusterSettings? {
        guard
            let object = errors.collect({ () throws(SourceError) in
                try cluster.value.object("cluster")
            })
        else { return nil }
        errors.refuseMembers(of: object, besides: Self.members, of: "cluster")
        let bus = bus(object, at: cluster.place)
        let etcd = etcd(object, at: cluster.place)
        let name = memberName(object, at: cluster.place)
        var settings = ClusterSettings(
            bus: bus ?? Located("", at: cluster.place), etcd: etcd, member: name ?? "", at: cluster.place)
        let advertise = object.given("advertise").flatMap { value in
            errors.collect { () throws(SourceError) in
                let text = try value.string("cluster.advertise")
                return Located(try ClusterAddress.advertised(text, at: value.place), at: value.place)
            }
        }
        settings.advertise = advertise?.value
        settings.from = from(object, advertise: settings.advertise)
        let secure = ([advertise].compactMap { $0 } + settings.from).filter { $0.value.hasPrefix("tls:") }
        readFiles(object, into: &settings, hasSecureMembers: !secure.isEmpty)
        readUser(object, into: &settings)
        for address in secure where object.given("certificate") == nil {
            errors.add(
                "\(address.value) lets members in by their certificates; name this one's under certificate: and key:.",
                at: address.place)
        }
        if let value = object.given("lease"), let lease = lease(value) { settings.lease = lease }
        return errors.isEmpty ? settings : nil
    }

    // MARK: - Members

    private mutating func bus(_ object: LocatedObject, at place: Place) -> Located<String>? {
        guard let value = object.given("bus") else {
            errors.add(
                "cluster: needs bus:, the name of the bus, the same on all its machines, such as home.",
                at: place)
            return nil
        }
        return errors.collect { () throws(SourceError) in
            let name = try value.string("cluster.bus")
            try Self.check(name, "a bus's name", at: value.place)
            return Located(name, at: value.place)
        }
    }

    private mutating func etcd(_ object: LocatedObject, at place: Place) -> [Located<String>] {
        guard let value = object.given("etcd") else {
            errors.add(
                "cluster: needs etcd:, the list of its servers' addresses, such as [https://10.0.0.1:2379].",
                at: place)
            return []
        }
        let elements = errors.collect { () throws(SourceError) in try value.array("cluster.etcd") }
        guard let elements else { return [] }
        if elements.isEmpty {
            errors.add(
                "cluster.etcd is empty; name its servers, such as https://10.0.0.1:2379.", at: value.place)
        }
        return addresses(elements, "etcd", ClusterAddress.etcd)
    }

    /// Members to read the log through: one, or a list.
    private mutating func from(_ object: LocatedObject, advertise: String?) -> [Located<String>] {
        guard let value = object.given("from") else { return [] }
        let isOne = (try? value.string("cluster.from")) != nil
        let found = errors.collect { () throws(SourceError) in
            isOne ? [value] : try value.array("cluster.from")
        }
        let addresses = addresses(found ?? [], "from", ClusterAddress.advertised)
        for own in addresses where own.value == advertise {
            errors.add(
                "\(own.value) is where others reach this member; name another one under from:, or remove it.",
                at: own.place)
        }
        return addresses
    }

    private mutating func addresses(
        _ elements: [LocatedValue], _ key: String,
        _ check: (String, Place) throws(SourceError) -> String
    ) -> [Located<String>] {
        var found: [Located<String>] = []
        for element in elements {
            _ = errors.collect { () throws(SourceError) in
                let text = try element.string("an address of cluster.\(key)")
                let address = try check(text, element.place)
                if found.contains(where: { $0.value == address }) {
                    throw element.failure(FileWords.duplicate("address", "\(address)"))
                }
                found.append(Located(address, at: element.place))
            }
        }
        return found
    }

    private mutating func memberName(_ object: LocatedObject, at place: Place) -> String? {
        guard let value = object.given("member") else {
            let host = HostName.read()
            if let name = HostName.member(of: host) { return name }
            errors.add(
                "The name of this machine, `\(host)`, can't be a member's; name the member under member:, "
                    + "with \(Self.letters).", at: place)
            return nil
        }
        return errors.collect { () throws(SourceError) in
            let name = try value.string("cluster.member")
            try Self.check(name, "a member's name", at: value.place)
            return name
        }
    }

    private static let letters = "at most \(OrderedLogLimits.memberName) of a-z, 0-9, `.`, `_` and `-`"

    private static func check(_ name: String, _ what: String, at place: Place) throws(SourceError) {
        guard ProposalName.isMemberName(name) else {
            throw SourceError("`\(name)` can't be \(what); use \(letters).", at: place)
        }
    }

    private mutating func lease(_ value: LocatedValue) -> Duration? {
        errors.collect { () throws(SourceError) in
            let lease = try AgeText.read(value, "cluster.lease", such: "10s or 1m")
            guard Self.leases.contains(lease) else {
                throw value.failure("cluster.lease must be within 2s and 10m.")
            }
            return .milliseconds(lease)
        }
    }

    // MARK: - Who we are to etcd

    private mutating func readFiles(
        _ object: LocatedObject, into settings: inout ClusterSettings, hasSecureMembers: Bool
    ) {
        settings.ca = path(object, "ca")
        settings.certificate = path(object, "certificate")
        settings.key = path(object, "key")
        pair(
            object, "certificate", "key",
            lonelyFirst: "certificate needs its key; name the PEM file under key:.",
            lonelySecond: "key needs its certificate; name the PEM file under certificate:.")
        guard !hasSecureMembers, !settings.etcd.isEmpty,
            settings.etcd.allSatisfy({ $0.value.hasPrefix("http://") })
        else { return }
        for member in object.members
        where ["ca", "certificate", "key"].contains(member.key) && !member.value.isNull {
            errors.add(
                "\(member.key) is for addresses of etcd with https://, or of members with tls:; remove it here, or write https:// there.",
                at: member.place)
        }
    }

    private mutating func readUser(_ object: LocatedObject, into settings: inout ClusterSettings) {
        if let value = object.given("user") {
            settings.user = errors.collect { () throws(SourceError) in
                let user = try value.string("cluster.user")
                if user.isEmpty {
                    throw value.failure("cluster.user is empty; write the user's name in etcd.")
                }
                return user
            }
        }
        settings.passwordFile = path(object, "password-file")
        pair(
            object, "user", "password-file",
            lonelyFirst: "user needs a password; name the file that holds it under password-file:.",
            lonelySecond: "password-file needs a user; name one under user:.")
    }

    /// Complains where one of two members stands alone.
    private mutating func pair(
        _ object: LocatedObject, _ first: String, _ second: String, lonelyFirst: String, lonelySecond: String
    ) {
        switch (object.given(first), object.given(second)) {
        case (let value?, nil): errors.add(lonelyFirst, at: value.place)
        case (nil, let value?): errors.add(lonelySecond, at: value.place)
        default: break
        }
    }

    private mutating func path(_ object: LocatedObject, _ key: String) -> Located<String>? {
        errors.path(object.given(key), "cluster.\(key)", beside: file)
    }
}
