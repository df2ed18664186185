package fluxbus

import (
	"context"
	"encoding/json"
)

// What `fluxbus types NAME --go` prints is made of these.

// Target is the address of a store of a type by its name; without a name it is the type, which is every store of it.
func Target(typeName, name string) string {
	if name == "" {
		return typeName
	}
	return typeName + "/" + name
}

// A List is a slice that is an empty array of JSON when it is nil.
type List[T any] []T

// MarshalJSON writes an array.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(l))
}

// A Map is a map that is an empty object of JSON when it is nil.
type Map[T any] map[string]T

// MarshalJSON writes an object.
func (m Map[T]) MarshalJSON() ([]byte, error) {
	if m == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]T(m))
}

// A Nullable is a value or null, for members that may also be absent: a pointer to one that is nil is left out.
type Nullable[T any] struct {
	// Value is nil for null.
	Value *T
}

// MarshalJSON writes the value or null.
func (n Nullable[T]) MarshalJSON() ([]byte, error) { return json.Marshal(n.Value) }

// UnmarshalJSON reads a value or null.
func (n *Nullable[T]) UnmarshalJSON(data []byte) error { return decodeExactly(data, &n.Value) }

// Some is a pointer to a value, for members that may be left out.
func Some[T any](value T) *T { return &value }

// MarshalWith writes a struct together with members that no struct can name. For printed code.
func MarshalWith(fields any, others map[string]any) ([]byte, error) {
	encoded, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &all); err != nil {
		return nil, err
	}
	for name, value := range others {
		if all[name], err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	return json.Marshal(all)
}

// UnmarshalWith reads a struct together with members that no struct can name, into pointers. For printed code.
func UnmarshalWith(data []byte, fields any, others map[string]any) error {
	if err := decodeExactly(data, fields); err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	for name, into := range others {
		if value, isThere := all[name]; isThere {
			if err := decodeExactly(value, into); err != nil {
				return err
			}
		}
	}
	return nil
}

// Decode reads a state into a pointer to a struct, such as those that are printed.
func Decode(state State, into any) error {
	encoded, err := json.Marshal(state)
	if err != nil {
		return err
	}
	return decodeExactly(encoded, into)
}

// A MirrorOf is a Mirror of a type whose states are Ts.
type MirrorOf[T any] struct {
	// Mirror is the mirror without types, with its changes.
	*Mirror
	typeName string
}

// TypedMirror is Mirror for a type whose states are Ts.
func TypedMirror[T any](ctx context.Context, bus *Bus, typeName string, members ...Member) (*MirrorOf[T], error) {
	mirror, err := bus.Mirror(ctx, typeName, members...)
	if err != nil {
		return nil, err
	}
	return &MirrorOf[T]{mirror, typeName}, nil
}

// Get gives the state of the store of that name, and whether there is one.
func (m *MirrorOf[T]) Get(name string) (value T, isThere bool, err error) {
	state, isThere := m.Mirror.Get(Target(m.typeName, name))
	if isThere {
		err = Decode(state, &value)
	}
	return value, isThere, err
}

// States gives all states of one revision, by the names of their stores.
func (m *MirrorOf[T]) States() (map[string]T, error) {
	states := map[string]T{}
	for address, state := range m.Mirror.States() {
		var value T
		if err := Decode(state, &value); err != nil {
			return nil, err
		}
		states[address[len(m.typeName)+1:]] = value
	}
	return states, nil
}
