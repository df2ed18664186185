use crate::error::Error;
use crate::value::{Object, Value};
use std::collections::BTreeMap;

/// What can be read from a JSON value: the types that `fluxbus types NAME --rust` prints, and what stands in them.
pub trait FromValue: Sized {
    /// Reads it; `mismatch` where the value is another.
    fn from_value(value: &Value) -> Result<Self, Error>;
}

/// The error of a value that is another. For printed code.
pub fn mismatch(wanted: &str, value: &Value) -> Error {
    let shown: String = value.to_string().chars().take(40).collect();
    Error::new("mismatch", format!("`{}` is no {}: print the type again.", shown, wanted))
}

macro_rules! readable {
    ($($kind:ty, $name:literal, $read:expr);* $(;)?) => {
        $(impl FromValue for $kind {
            fn from_value(value: &Value) -> Result<Self, Error> {
                let read: fn(&Value) -> Option<$kind> = $read;
                read(value).ok_or_else(|| mismatch($name, value))
            }
        })*
    };
}

readable! {
    bool, "boolean", Value::as_bool;
    i64, "integer", Value::as_int;
    f64, "number", Value::as_double;
    String, "string", |value| value.as_str().map(str::to_string);
    Value, "value", |value| Some(value.clone());
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &Value) -> Result<Self, Error> {
        if value.is_null() {
            return Ok(None);
        }
        T::from_value(value).map(Some)
    }
}

impl<T: FromValue> FromValue for Vec<T> {
    fn from_value(value: &Value) -> Result<Self, Error> {
        let elements = value.as_array().ok_or_else(|| mismatch("array", value))?;
        elements.iter().map(T::from_value).collect()
    }
}

impl<T: FromValue> FromValue for BTreeMap<String, T> {
    fn from_value(value: &Value) -> Result<Self, Error> {
        let members = value.as_object().ok_or_else(|| mismatch("object", value))?;
        members.iter().map(|(name, value)| Ok((name.clone(), T::from_value(value)?))).collect()
    }
}

/// Reads a member that has to be there. For printed code.
pub fn member<T: FromValue>(value: &Value, name: &str) -> Result<T, Error> {
    match value.get(name) {
        Some(member) => T::from_value(member),
        None => Err(mismatch(&format!("object with `{}`", name), value)),
    }
}

/// Reads a member that may be absent. For printed code.
pub fn optional<T: FromValue>(value: &Value, name: &str) -> Result<Option<T>, Error> {
    value.get(name).map(T::from_value).transpose()
}

/// The address of a store of a type by its name; without a name the type, which is every store of it.
pub fn target(type_name: &str, name: &str) -> String {
    if name.is_empty() {
        return type_name.to_string();
    }
    format!("{}/{}", type_name, name)
}

/// Adds a member. For printed code.
pub fn put(members: &mut Object, name: &str, value: impl Into<Value>) {
    members.insert(name.to_string(), value.into());
}

impl<T: Into<Value>> From<BTreeMap<String, T>> for Value
where
    T: NotValue,
{
    fn from(members: BTreeMap<String, T>) -> Value {
        Value::Object(members.into_iter().map(|(name, value)| (name, value.into())).collect())
    }
}

/// A map of these is no [`Object`] yet.
pub trait NotValue {}

impl NotValue for bool {}
impl NotValue for i64 {}
impl NotValue for f64 {}
impl NotValue for String {}
impl<T> NotValue for Vec<T> {}
impl<T> NotValue for Option<T> {}
impl<T> NotValue for BTreeMap<String, T> {}
