/// An identity for a lens made of closures, which can't be compared themselves.
final class LensName: Sendable {}
