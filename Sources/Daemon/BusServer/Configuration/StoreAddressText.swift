import BusProtocol

/// Addresses of stores as they stand in the configuration.
enum StoreAddressText {
    /// The type in `type/name`; nil when this is no address.
    static func type(of address: String) -> String? {
        var address = address
        return address.withUTF8 { bytes in
            AddressParts(UnsafeRawBufferPointer(bytes)).map { String(decoding: $0.type, as: UTF8.self) }
        }
    }
}
