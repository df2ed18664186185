/// A member that is present, as every replica knows it.
package struct ReplicaMember: Equatable, Sendable {
    /// The place at which it joined.
    package let incarnation: Int
    /// Of its last proposal that counted; 0 before the first.
    package internal(set) var number = 0
    /// What its clock showed then, in milliseconds since 1970; nil before the first.
    package internal(set) var clock: Int?
}
