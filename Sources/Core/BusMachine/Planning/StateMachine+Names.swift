import BusJSON
import BusLogic
import BusProtocol

/// Looks up types, actions and stores by name, or explains why there is none.
extension StateMachine {
    /// The indices of a store and of its type.
    package struct Location {
        package let type: Int32
        package let store: Int32
    }

    /// The location of the store at an address; nil if there is none. Does not check whether the address is well-formed.
    @inline(__always)
    func locate(_ address: UnsafeRawBufferPointer) -> Location? {
        let length = ByteHash.count(of: address, before: UInt8(ascii: "/"))
        guard length < address.count, let start = address.baseAddress,
            let type = typeNumber(of: UnsafeRawBufferPointer(start: start, count: length))
        else { return nil }
        let name = UnsafeRawBufferPointer(start: start + length + 1, count: address.count &- length &- 1)
        // The machine keeps `stores` alive, and nothing here changes it.
        let found = Unmanaged.passUnretained(stores)._withUnsafeGuaranteedRef {
            let found = $0.find(type: type, name: name)
            if let found { $0.prepare(found) }
            return found
        }
        return found.map { Location(type: type, store: $0) }
    }

    /// `locate` for other modules.
    package func location(of address: UnsafeRawBufferPointer) -> Location? { locate(address) }

    /// The store at an address; nil when there is none.
    package func find(_ address: String) -> Int32? {
        address.utf8Span.span.withUnsafeBytes { locate($0)?.store }
    }

    /// The type with a name. The error for an unknown one suggests existing types. `member` is the request's member that holds
    /// the name.
    package func requireType(
        _ name: UnsafeRawBufferPointer, member: String = "type"
    ) throws(RequestError) -> TypeEntry {
        if let entry = type(named: name) { return entry }
        let text = String(decoding: name.prefix(80), as: UTF8.self)
        guard Names.isTypeName(name) else {
            throw .invalid(
                member,
                "`\(text)` is not a type name; it is a lower-case letter, then letters, digits, _ or -."
            )
        }
        throw RequestError(
            .unknownType,
            "There is no state type `\(text)`; \(suggestion(for: text, among: typesByName.keys.sorted()))")
    }

    package func requireType(_ name: String) throws(RequestError) -> TypeEntry {
        try name.utf8Span.span.withUnsafeBytes { (name) throws(RequestError) in try requireType(name) }
    }

    func requireAction(_ name: UnsafeRawBufferPointer, of entry: TypeEntry) throws(RequestError) -> Int {
        if let index = entry.action(named: name) { return index }
        try refuseView(entry)
        let text = String(decoding: name.prefix(80), as: UTF8.self)
        throw RequestError(
            .unknownAction,
            "\(entry.name) has no action `\(text)`; \(suggestion(for: text, among: entry.type.actionNames))"
        )
    }

    /// Splits an address into type and name; `member` is the request's member that holds it.
    package func requireAddress(
        _ text: UnsafeRawBufferPointer, member: String = "store"
    ) throws(RequestError) -> AddressParts {
        guard let parts = AddressParts(text) else {
            let shown = String(decoding: text.prefix(200), as: UTF8.self)
            throw .invalid(
                member, "`\(shown)` is not an address; write type/name, for example counter/kitchen.")
        }
        return parts
    }

    /// The store at an address and its type; throws if either does not exist.
    package func requireStore(_ text: UnsafeRawBufferPointer) throws(RequestError) -> (TypeEntry, Int32) {
        if let found = locate(text) { return (types[Int(found.type)], found.store) }
        let parts = try requireAddress(text)
        let entry = try requireType(parts.type)
        guard let index = stores.find(type: entry.index, name: parts.name) else {
            throw absence(of: String(decoding: text, as: UTF8.self))
        }
        return (entry, index)
    }

    package func requireStore(_ address: String) throws(RequestError) -> (TypeEntry, Int32) {
        try address.utf8Span.span.withUnsafeBytes { (address) throws(RequestError) in
            try requireStore(address)
        }
    }

    /// The error for a store that does not exist, perhaps because its type does not. It names no other type: the caller may
    /// not be allowed to see it.
    func absence(of address: String) -> RequestError {
        let type = String(address.prefix { $0 != "/" })
        let reason =
            switch typesByName[type] {
            case nil: ", nor a state type `\(type)`; list what there is with types."
            case let entry? where entry.view != nil:
                "; \(type) is a view, whose stores are there as long as something counts in them."
            default: "; create it, or list what there is with stores."
            }
        return RequestError(.unknownStore, "There is no store \(address)\(reason)")
    }

    /// Throws if a pattern names a type without wildcards and that type does not exist.
    package func requireTypes(of pattern: AddressPattern) throws(RequestError) {
        guard pattern.type.isLiteral else { return }
        try pattern.type.pattern.span.withUnsafeBytes { (name) throws(RequestError) in
            _ = try requireType(name, member: "match")
        }
    }
}

extension StateMachine: StoreReader {
    /// The principal of the commit that is being applied; outside commits, the daemon.
    package var who: JSON { applying?.takeUnretainedValue().who ?? Principal.daemon.who }

    package func address(of store: Int) -> String {
        let record = stores.pointer(Int32(store))
        return "\(types[Int(record.pointee.type)].name)/\(record.pointee.name)"
    }

    package func state(at address: String) -> JSONObject? {
        guard let index = find(address) else { return nil }
        let record = stores.pointer(index)
        // Within one action, stores of a type do not see each other's changes; stores of types that wait for it do.
        if context.facts.pointee.keepsPrior, let prior = context.prior[Int(index)],
            stores.pointer(Int32(context.facts.pointee.store)).pointee.type == record.pointee.type
        {
            return prior
        }
        return record.pointee.state
    }

    /// The state of a store and the version of its type, for a later machine.
    package func pastState(at address: String) -> PastState? {
        find(address).map { index in
            let record = stores.pointer(index)
            return PastState(
                record.pointee.state, under: types[Int(record.pointee.type)].type.definition)
        }
    }

    package func storeCount(ofType type: String) -> Int { typesByName[type]?.count ?? 0 }

    package func addresses(ofType type: String) -> [String] {
        guard let entry = typesByName[type] else { return [] }
        return entry.inOrder.map { address(of: Int($0)) }
    }
}
