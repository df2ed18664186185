/// ``State`` under a name that no other module has, for files that also import the `State` of a user interface.
///
/// ```swift
/// struct Counter: FluxState { … }
/// ```
public typealias FluxState = State

/// ``Binding`` under a name that no other module has, for files that also import the `Binding` of a user interface.
public typealias FluxBinding = Binding
