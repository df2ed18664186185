/// ``State`` by a name that no other module has, for files that import a user interface's `State`, too.
///
/// ```swift
/// struct Counter: FluxState { … }
/// ```
public typealias FluxState = State

/// ``Binding`` by a name that no other module has, for files that import a user interface's `Binding`, too.
public typealias FluxBinding = Binding
