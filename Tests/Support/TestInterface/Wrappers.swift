/// What a module for user interfaces calls its property wrappers.
@propertyWrapper
package struct State<Value> {
    package var wrappedValue: Value

    package init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
}

@propertyWrapper
package struct Binding<Value> {
    private let get: () -> Value
    private let set: (Value) -> Void

    package init(get: @escaping () -> Value, set: @escaping (Value) -> Void) {
        self.get = get
        self.set = set
    }

    package var wrappedValue: Value {
        get { get() }
        nonmutating set { set(newValue) }
    }
}
