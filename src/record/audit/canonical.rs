//! The one spelling of a line (AUDIT-2): the canonical form of RFC 8785. The values of a line are
//! objects, arrays, texts, `true`, `false`, and whole numbers below 2^53.
//!
//! [`Members::read`] checks the bytes as they are, in one pass, without a second spelling to
//! compare them with. It records where each member of the object is. So the hash of a line is that
//! of the bytes around its member `hash`, and a value that is not needed costs nothing more. Depth
//! and number of values are limited, so that any log is read in bounded memory.

use std::cmp::Ordering;
use std::ops::Range;

use serde::de::DeserializeOwned;

/// Maximum depth of nested objects and arrays, including the line itself.
pub(super) const MAX_DEPTH: usize = 32;
/// Maximum number of values in a line. The longest line that ctx writes has less than half of them.
pub(super) const MAX_VALUES: usize = 1 << 16;
/// Limit of whole numbers: from here on, RFC 8785 spells them by their nearest `f64`.
const NUMBERS: u64 = 1 << 53;

/// Reason why bytes are not in canonical form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not in canonical form (RFC 8785): {why} at byte {at}")]
pub(super) struct NotCanonical {
    why: &'static str,
    /// Offset of the fault in bytes.
    at: usize,
}

/// The members of a line's object, in their order.
pub(crate) struct Members<'l> {
    text: &'l str,
    members: Vec<Member<'l>>,
}

struct Member<'l> {
    /// Key as it is spelled, without quotes. The keys of lines contain no escapes.
    key: &'l str,
    /// From the first byte of the key to the end of the value.
    whole: Range<usize>,
    /// Offset of the value.
    value: usize,
}

/// Failure to read a member.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MemberFault {
    #[error("no `{0}`")]
    Missing(&'static str),
    #[error("`{0}`: {1}")]
    Value(&'static str, serde_json::Error),
    #[error("{0}")]
    Whole(serde_json::Error),
    #[error("the URI of text {0} is not pinned to its checkpoint")]
    NotPinned(usize),
}

impl<'l> Members<'l> {
    /// Parses an object in canonical form.
    pub(super) fn read(bytes: &'l [u8]) -> Result<Self, NotCanonical> {
        let text = std::str::from_utf8(bytes).map_err(|why| NotCanonical {
            why: "bytes that are not UTF-8",
            at: why.valid_up_to(),
        })?;
        let mut scan = Scan { text, bytes, at: 0, values: MAX_VALUES };
        let mut members = Vec::with_capacity(32);
        scan.object(MAX_DEPTH - 1, &mut |member| members.push(member))?;
        match scan.at == bytes.len() {
            true => Ok(Self { text, members }),
            // Another program may have converted the line ends of the whole file.
            false if &bytes[scan.at..] == b"\r" => {
                Err(scan.fault("a line end of CRLF, which a program such as unix2dos writes"))
            }
            false => Err(scan.fault("bytes after the object")),
        }
    }

    /// Returns the offset at which a missing member with this key would begin.
    pub(super) fn place_of(&self, key: &str) -> usize {
        let next = self.members.iter().find(|member| member.key > key);
        next.map_or(self.text.len().saturating_sub(1), |member| member.whole.start)
    }

    /// Parses the value of a member; `None` if the member is missing.
    pub(crate) fn get<T: DeserializeOwned>(
        &self,
        key: &'static str,
    ) -> Result<Option<T>, MemberFault> {
        let member = self.members.iter().find(|member| member.key == key);
        let value = |member: &Member<'_>| {
            serde_json::from_str(&self.text[member.value..member.whole.end])
                .map_err(|why| MemberFault::Value(key, why))
        };
        member.map(value).transpose()
    }

    /// Parses the value of a required member.
    pub(crate) fn need<T: DeserializeOwned>(&self, key: &'static str) -> Result<T, MemberFault> {
        self.get(key)?.ok_or(MemberFault::Missing(key))
    }

    /// Parses the whole object into a type that decides itself which members it accepts.
    pub(crate) fn whole<T: DeserializeOwned>(&self) -> Result<T, MemberFault> {
        serde_json::from_str(self.text).map_err(MemberFault::Whole)
    }

    /// Returns the bytes of the object without a member, in two pieces; all of them if the member
    /// is missing. The pieces together are again in canonical form.
    pub(super) fn without(&self, key: &str) -> [&'l [u8]; 2] {
        let bytes = self.text.as_bytes();
        let Some(n) = self.members.iter().position(|member| member.key == key) else {
            return [bytes, &[]];
        };
        let Range { start, end } = self.members[n].whole;
        // The comma before the member is removed with it; for the first member, the comma after it.
        let (start, end) = match (n, self.members.len()) {
            (0, 1) => (start, end),
            (0, _) => (start, end + 1),
            _ => (start - 1, end),
        };
        [&bytes[..start], &bytes[end..]]
    }
}

/// Bytes that represent themselves in a text.
const PLAIN: [bool; 256] = {
    let mut plain = [true; 256];
    let mut control = 0;
    while control < 0x20 {
        plain[control] = false;
        control += 1;
    }
    plain[b'"' as usize] = false;
    plain[b'\\' as usize] = false;
    plain
};

struct Scan<'l> {
    text: &'l str,
    bytes: &'l [u8],
    at: usize,
    /// Number of values that may still follow.
    values: usize,
}

impl<'l> Scan<'l> {
    fn fault(&self, why: &'static str) -> NotCanonical {
        NotCanonical { why, at: self.at }
    }

    fn peek(&self) -> u8 {
        // A NUL is valid nowhere.
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    /// Skips a byte if it is the next one.
    fn skip(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == byte;
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, byte: u8, why: &'static str) -> Result<(), NotCanonical> {
        if self.skip(byte) { Ok(()) } else { Err(self.fault(why)) }
    }

    /// Checks a value that may nest others down to a depth.
    fn value(&mut self, depth: usize) -> Result<(), NotCanonical> {
        self.values = self.values.checked_sub(1).ok_or(self.fault("too many values"))?;
        match self.peek() {
            b'"' => self.string().map(drop),
            b'{' | b'[' if depth == 0 => Err(self.fault("values nested too deep")),
            b'{' => self.object(depth - 1, &mut |_| ()),
            b'[' => self.array(depth - 1),
            b'0'..=b'9' => self.number(),
            _ if self.bytes[self.at..].starts_with(b"true") => self.pass(4),
            _ if self.bytes[self.at..].starts_with(b"false") => self.pass(5),
            _ => Err(self.fault("a value of a kind that lines cannot have")),
        }
    }

    fn pass(&mut self, bytes: usize) -> Result<(), NotCanonical> {
        self.at += bytes;
        Ok(())
    }

    fn object(
        &mut self,
        depth: usize,
        found: &mut dyn FnMut(Member<'l>),
    ) -> Result<(), NotCanonical> {
        self.expect(b'{', "no `{`")?;
        if self.skip(b'}') {
            return Ok(());
        }
        let mut before = None;
        loop {
            let start = self.at;
            let key = self.string()?;
            if before.is_some_and(|before| order(before, key) != Ordering::Less) {
                return Err(NotCanonical { why: "a key that is not in order", at: start });
            }
            before = Some(key);
            self.expect(b':', "no `:`")?;
            let value = self.at;
            self.value(depth)?;
            found(Member { key, whole: start..self.at, value });
            if self.skip(b'}') {
                return Ok(());
            }
            self.expect(b',', "no `,` or `}`")?;
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), NotCanonical> {
        self.expect(b'[', "no `[`")?;
        if self.skip(b']') {
            return Ok(());
        }
        loop {
            self.value(depth)?;
            if self.skip(b']') {
                return Ok(());
            }
            self.expect(b',', "no `,` or `]`")?;
        }
    }

    fn number(&mut self) -> Result<(), NotCanonical> {
        let start = self.at;
        let digits = self.bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let digits = &self.text[start..start + digits];
        let is_spelled = digits == "0" || !digits.starts_with('0');
        if !is_spelled || !digits.parse::<u64>().is_ok_and(|number| number < NUMBERS) {
            return Err(self.fault("not a whole number below 2^53"));
        }
        self.pass(digits.len())
    }

    /// Returns the bytes between the quotes of a text, as they are spelled.
    fn string(&mut self) -> Result<&'l str, NotCanonical> {
        self.expect(b'"', "no `\"")?;
        let start = self.at;
        loop {
            let rest = &self.bytes[self.at..];
            let plain = rest.iter().position(|byte| !PLAIN[usize::from(*byte)]);
            self.at += plain.ok_or(self.fault("an unterminated text"))?;
            match self.peek() {
                b'"' => break,
                b'\\' => self.escape()?,
                _ => return Err(self.fault("a control character")),
            }
        }
        self.at += 1;
        Ok(&self.text[start..self.at - 1])
    }

    /// Checks an escape: of a quote, a backslash or a control character, each in its
    /// shortest spelling.
    fn escape(&mut self) -> Result<(), NotCanonical> {
        match self.bytes[self.at + 1..] {
            [b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't', ..] => self.pass(2),
            [b'u', b'0', b'0', b'0', b'0'..=b'7' | b'b' | b'e' | b'f', ..]
            | [b'u', b'0', b'0', b'1', b'0'..=b'9' | b'a'..=b'f', ..] => self.pass(6),
            _ => Err(self.fault("an escape that is not the shortest")),
        }
    }
}

/// Compares two keys by their UTF-16 code units.
fn order(a: &str, b: &str) -> Ordering {
    let is_plain = |key: &str| key.is_ascii() && !key.contains('\\');
    if is_plain(a) && is_plain(b) {
        return a.cmp(b);
    }
    let units = |key| {
        unescaped(key).flat_map(|c| {
            let mut units = [0; 2];
            let length = c.encode_utf16(&mut units).len();
            units.into_iter().take(length)
        })
    };
    units(a).cmp(units(b))
}

/// Returns the characters of a text whose escapes were checked.
fn unescaped(text: &str) -> impl Iterator<Item = char> {
    let mut chars = text.chars();
    std::iter::from_fn(move || {
        let c = chars.next()?;
        if c != '\\' {
            return Some(c);
        }
        Some(match chars.next()? {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let digits = chars.by_ref().take(4);
                let code = digits.fold(0, |code, c| code << 4 | c.to_digit(16).unwrap_or(0));
                char::from_u32(code)?
            }
            itself => itself,
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    use super::*;

    /// Returns the expected result of the check: true if the bytes are what `serde_jcs` spells for
    /// the object, and the object has only values of the kinds that a line may have.
    fn is_spelled(bytes: &[u8]) -> bool {
        fn is_of_ours(value: &Value, depth: usize) -> bool {
            match value {
                Value::Null => false,
                Value::Bool(_) | Value::String(_) => true,
                Value::Number(number) => number.as_u64().is_some_and(|number| number < NUMBERS),
                Value::Array(_) | Value::Object(_) if depth == 0 => false,
                Value::Array(items) => items.iter().all(|item| is_of_ours(item, depth - 1)),
                Value::Object(fields) => fields.values().all(|value| is_of_ours(value, depth - 1)),
            }
        }
        let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return false };
        let is_same = || serde_jcs::to_vec(&value).is_ok_and(|spelled| spelled == bytes);
        value.is_object() && is_of_ours(&value, MAX_DEPTH) && is_same()
    }

    fn text() -> impl Strategy<Value = String> {
        let c = prop_oneof![
            6 => prop::char::range('a', 'c'),
            2 => prop::char::range('\0', '\u{1f}'),
            1 => prop::sample::select(vec!['"', '\\', '/', '\u{7f}', '\u{e9}', '\u{2028}']),
            // Their order in UTF-8 differs from that in UTF-16.
            1 => prop::sample::select(vec!['\u{ffff}', '\u{e000}', '\u{10000}', '\u{10ffff}']),
        ];
        prop::collection::vec(c, 0..4).prop_map(String::from_iter)
    }

    fn object() -> impl Strategy<Value = Value> {
        let number = prop_oneof![0..20_u64, NUMBERS - 2..NUMBERS + 2, any::<u64>()];
        let leaf = prop_oneof![
            6 => text().prop_map(Value::from),
            4 => number.prop_map(Value::from),
            2 => any::<bool>().prop_map(Value::from),
            1 => prop::sample::select(vec![Value::Null, 1.5.into(), (-1).into(), 1e30.into()]),
        ];
        let fields = |value: BoxedStrategy<Value>| {
            let fields = prop::collection::vec((text(), value), 0..5);
            fields.prop_map(|fields| Value::Object(Map::from_iter(fields)))
        };
        let value = leaf.prop_recursive(4, 24, 4, move |inner| {
            let items = prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from);
            prop_oneof![items, fields(inner)]
        });
        fields(value.boxed())
    }

    proptest! {
        #[test]
        fn canonical_accepts_exactly_the_spelling_of_serde_jcs(
            object in object(),
            at in any::<prop::sample::Index>(),
            byte in prop::sample::select(b"\"\\{}[],: 01.-euf\x00\x1f\xc3".to_vec()),
        ) {
            let spelled = serde_jcs::to_vec(&object).unwrap();
            prop_assert_eq!(Members::read(&spelled).is_ok(), is_spelled(&spelled));
            let at = at.index(spelled.len());
            let (mut other, mut longer, mut shorter) =
                (spelled.clone(), spelled.clone(), spelled.clone());
            other[at] = byte;
            longer.insert(at, byte);
            shorter.remove(at);
            for altered in [other, longer, shorter] {
                prop_assert_eq!(Members::read(&altered).is_ok(), is_spelled(&altered));
            }
        }

        #[test]
        fn canonical_removes_a_member_with_its_comma(object in object(), key in "[abc]?") {
            let mut object = object;
            let key: &'static str = key.leak();
            object[key] = "x".into();
            let spelled = serde_jcs::to_vec(&object).unwrap();
            let Ok(members) = Members::read(&spelled) else { return Ok(()) };
            prop_assert_eq!(members.need::<String>(key).unwrap(), "x");
            let without = members.without(key).concat();
            object.as_object_mut().unwrap().remove(key);
            prop_assert_eq!(without, serde_jcs::to_vec(&object).unwrap());
        }
    }

    fn why(line: &str) -> String {
        Members::read(line.as_bytes()).err().map(|why| why.to_string()).unwrap_or_default()
    }

    #[test]
    fn canonical_faults_name_reason_and_offset() {
        insta::assert_snapshot!(why(""), @"not in canonical form (RFC 8785): no `{` at byte 0");
        insta::assert_snapshot!(why(r#"{"b":1,"a":2}"#), @"not in canonical form (RFC 8785): a key that is not in order at byte 7");
        insta::assert_snapshot!(why(r#"{"a":1.5}"#), @"not in canonical form (RFC 8785): no `,` or `}` at byte 6");
        insta::assert_snapshot!(why(r#"{"a":"\u000a"}"#), @"not in canonical form (RFC 8785): an escape that is not the shortest at byte 6");
        insta::assert_snapshot!(why(r#"{"a": 1}"#), @"not in canonical form (RFC 8785): a value of a kind that lines cannot have at byte 5");
        assert_eq!(why("{}"), "");
    }

    #[test]
    fn canonical_limits_depth_and_number_of_values() {
        let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(why(&nested(MAX_DEPTH - 1)), "");
        assert!(why(&nested(MAX_DEPTH)).contains("nested too deep"));
        assert!(why(&nested(1 << 20)).contains("nested too deep"));
        let many = |values: usize| format!("{{\"a\":[0{}]}}", ",0".repeat(values - 2));
        assert_eq!(why(&many(MAX_VALUES)), "");
        assert!(why(&many(MAX_VALUES + 1)).contains("too many values"));
    }
}
