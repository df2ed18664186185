//! Reads JSON, strictly.

use crate::value::{Object, Value};

/// So deep may arrays and objects stand in each other.
const DEEPEST: usize = 256;

/// Reads one value with nothing but spaces around it. The error says what is wrong.
pub(crate) fn parse(text: &[u8]) -> Result<Value, String> {
    let mut parser = Parser { text, at: 0 };
    let value = parser.value(0)?;
    parser.space();
    if parser.at < text.len() {
        return Err("there is something behind the value".to_string());
    }
    Ok(value)
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> u8 {
        // No JSON holds this byte outside of a string.
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> Result<(), String> {
        if self.peek() != byte {
            return Err(format!("`{}` is missing at byte {}", byte as char, self.at));
        }
        self.at += 1;
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > DEEPEST {
            return Err(format!("values stand more than {} deep in each other", DEEPEST));
        }
        self.space();
        match self.peek() {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => Ok(Value::String(self.string()?)),
            b'-' | b'0'..=b'9' => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Value, String> {
        let words = [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))];
        for (word, value) in words {
            if self.text[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(format!("there is no value at byte {}", self.at))
    }

    fn object(&mut self, depth: usize) -> Result<Value, String> {
        self.at += 1;
        let mut members = Object::new();
        self.space();
        if self.peek() == b'}' {
            self.at += 1;
            return Ok(Value::Object(members));
        }
        loop {
            self.space();
            let name = self.string()?;
            self.space();
            self.take(b':')?;
            let value = self.value(depth + 1)?;
            members.insert(name, value);
            self.space();
            if self.peek() == b',' {
                self.at += 1;
            } else {
                self.take(b'}')?;
                return Ok(Value::Object(members));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, String> {
        self.at += 1;
        let mut elements = Vec::new();
        self.space();
        if self.peek() == b']' {
            self.at += 1;
            return Ok(Value::Array(elements));
        }
        loop {
            elements.push(self.value(depth + 1)?);
            self.space();
            if self.peek() == b',' {
                self.at += 1;
            } else {
                self.take(b']')?;
                return Ok(Value::Array(elements));
            }
        }
    }

    fn digits(&mut self) -> Result<(), String> {
        if !self.peek().is_ascii_digit() {
            return Err(format!("a digit is missing at byte {}", self.at));
        }
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Value, String> {
        let begin = self.at;
        if self.peek() == b'-' {
            self.at += 1;
        }
        let first = self.at;
        self.digits()?;
        if self.text[first] == b'0' && self.at > first + 1 {
            return Err(format!("a number begins with 0 at byte {}", first));
        }
        let mut is_integer = true;
        if self.peek() == b'.' {
            is_integer = false;
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            is_integer = false;
            self.at += 1;
            if matches!(self.peek(), b'+' | b'-') {
                self.at += 1;
            }
            self.digits()?;
        }
        let text = std::str::from_utf8(&self.text[begin..self.at]).unwrap_or_default();
        if is_integer {
            return text.parse().map(Value::Int).map_err(|_| format!("{} has more than 64 bits", text));
        }
        match text.parse() {
            Ok(number) if f64::is_finite(number) => Ok(Value::Double(number)),
            _ => Err(format!("{} is too large", text)),
        }
    }

    fn string(&mut self) -> Result<String, String> {
        self.take(b'"')?;
        let mut result = Vec::new();
        let mut begin = self.at;
        loop {
            match self.text.get(self.at) {
                Some(b'"') => {
                    result.extend_from_slice(&self.text[begin..self.at]);
                    self.at += 1;
                    return String::from_utf8(result).map_err(|_| "a string is not UTF-8".to_string());
                }
                Some(b'\\') => {
                    result.extend_from_slice(&self.text[begin..self.at]);
                    self.at += 1;
                    let character = self.escape()?;
                    result.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                    begin = self.at;
                }
                Some(byte) if *byte >= b' ' => self.at += 1,
                _ => return Err(format!("a string ends badly at byte {}", self.at)),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        let letter = self.peek();
        self.at += 1;
        Ok(match letter {
            b'"' | b'\\' | b'/' => letter as char,
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return Err(format!("there is no such escape at byte {}", self.at - 1)),
        })
    }

    fn unicode(&mut self) -> Result<char, String> {
        let first = self.hexadecimal()?;
        let mut number = first;
        if (0xd800..0xdc00).contains(&first) {
            self.take(b'\\')?;
            self.take(b'u')?;
            let second = self.hexadecimal()?;
            if !(0xdc00..0xe000).contains(&second) {
                return Err(format!("half a character stands at byte {}", self.at));
            }
            number = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        }
        char::from_u32(number).ok_or_else(|| format!("half a character stands at byte {}", self.at))
    }

    fn hexadecimal(&mut self) -> Result<u32, String> {
        let mut number = 0;
        for _ in 0..4 {
            let digit = (self.peek() as char).to_digit(16);
            number = number * 16 + digit.ok_or_else(|| format!("a digit is missing at byte {}", self.at))?;
            self.at += 1;
        }
        Ok(number)
    }
}
