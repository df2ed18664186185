//! JSON values. Integers are exact 64-bit, and what is written as a double stays one.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The members of a JSON object, ascending by name.
pub type Object = BTreeMap<String, Value>;

/// The state of a store: an object. Clones are cheap, and what one holds is never changed.
pub type State = Arc<Value>;

/// Any JSON value.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// JSON's `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number without fraction and exponent.
    Int(i64),
    /// Any other number.
    Double(f64),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Value>),
    /// An object.
    Object(Object),
}

static NULL: Value = Value::Null;

impl Value {
    /// The integer, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The number, if it is one; an integer beyond 2^53 is rounded.
    pub fn as_double(&self) -> Option<f64> {
        match self {
            Value::Int(number) => Some(*number as f64),
            Value::Double(number) => Some(*number),
            _ => None,
        }
    }

    /// The boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The elements, if it is an array.
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Value::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// The members, if it is an object.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Value::Object(members) => Some(members),
            _ => None,
        }
    }

    /// A member of an object, if it is there.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.as_object()?.get(name)
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        *self == Value::Null
    }

    /// Applies a merge patch (RFC 7396).
    pub fn merge(&mut self, patch: Value) {
        let changes = match patch {
            Value::Object(changes) => changes,
            other => {
                *self = other;
                return;
            }
        };
        if !matches!(self, Value::Object(_)) {
            *self = Value::Object(Object::new());
        }
        if let Value::Object(members) = self {
            for (name, change) in changes {
                match change {
                    Value::Null => {
                        members.remove(&name);
                    }
                    Value::Object(_) => members.entry(name).or_default().merge(change),
                    _ => {
                        members.insert(name, change);
                    }
                }
            }
        }
    }

    /// Whether it holds a number that JSON has no word for: an infinite one, or none.
    pub(crate) fn is_writable(&self) -> bool {
        match self {
            Value::Double(number) => number.is_finite(),
            Value::Array(elements) => elements.iter().all(Value::is_writable),
            Value::Object(members) => members.values().all(Value::is_writable),
            _ => true,
        }
    }

    /// Appends it as JSON without spaces.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Value::Null => out.extend_from_slice(b"null"),
            Value::Bool(flag) => out.extend_from_slice(if *flag { b"true" } else { b"false" }),
            Value::Int(number) => write_int(*number, out),
            Value::Double(number) => out.extend_from_slice(format!("{:?}", number).as_bytes()),
            Value::String(text) => write_text(text, out),
            Value::Array(elements) => {
                out.push(b'[');
                for (index, element) in elements.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    element.write(out);
                }
                out.push(b']');
            }
            Value::Object(members) => {
                out.push(b'{');
                for (index, (name, value)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    write_text(name, out);
                    out.push(b':');
                    value.write(out);
                }
                out.push(b'}');
            }
        }
    }
}

/// JSON without spaces.
impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::new();
        self.write(&mut out);
        formatter.write_str(&String::from_utf8_lossy(&out))
    }
}

/// A member of an object; of one that is not there, and of anything else, `Null`.
impl std::ops::Index<&str> for Value {
    type Output = Value;

    fn index(&self, name: &str) -> &Value {
        self.get(name).unwrap_or(&NULL)
    }
}

pub(crate) fn write_int(number: i64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = number.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

pub(crate) fn write_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut done = 0;
    for (index, byte) in bytes.iter().enumerate() {
        if *byte >= b' ' && *byte != b'"' && *byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[done..index]);
        done = index + 1;
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            _ => out.extend_from_slice(format!("\\u{:04x}", byte).as_bytes()),
        }
    }
    out.extend_from_slice(&bytes[done..]);
    out.push(b'"');
}

macro_rules! from {
    ($($kind:ty => |$name:ident| $value:expr),* $(,)?) => {
        $(impl From<$kind> for Value {
            fn from($name: $kind) -> Value {
                $value
            }
        })*
    };
}

from! {
    bool => |flag| Value::Bool(flag),
    i32 => |number| Value::Int(number.into()),
    u32 => |number| Value::Int(number.into()),
    i64 => |number| Value::Int(number),
    f64 => |number| Value::Double(number),
    &str => |text| Value::String(text.to_string()),
    &String => |text| Value::String(text.clone()),
    String => |text| Value::String(text),
    Object => |members| Value::Object(members),
    () => |_nothing| Value::Object(Object::new()),
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(elements: Vec<T>) -> Value {
        Value::Array(elements.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

/// An object: `object! { "by": 2, "who": name }`.
#[macro_export]
macro_rules! object {
    ($($name:literal : $value:expr),* $(,)?) => {{
        #[allow(unused_mut)]
        let mut members = $crate::Object::new();
        $(members.insert($name.to_string(), $crate::Value::from($value));)*
        $crate::Value::Object(members)
    }};
}
