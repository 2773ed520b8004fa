//! The one spelling of a line (AUDIT-2): the canonical form of RFC 8785, of which lines hold
//! objects, arrays, texts, `true`, `false`, and whole numbers below 2^53.
//!
//! [`Members::read`] checks the bytes as they are, in one pass and without a second spelling to
//! compare them with, and keeps where each member of the object is. So the hash of a line is that of
//! the bytes around its member `hash`, and a value that is not asked for costs nothing more. Depth
//! and number of values are limited: a log is read in bounded memory, whatever is in it.

use std::cmp::Ordering;
use std::ops::Range;

use serde::de::DeserializeOwned;

/// Objects and arrays are nested no deeper, the line itself included.
pub(super) const MAX_DEPTH: usize = 32;
/// A line has no more values: the longest line of ours has less than half of them.
pub(super) const MAX_VALUES: usize = 1 << 16;
/// RFC 8785 spells whole numbers from here on by their nearest `f64`.
const NUMBERS: u64 = 1 << 53;

/// Why bytes are not in canonical form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not in canonical form (RFC 8785): {why} at byte {at}")]
pub(super) struct NotCanonical {
    /// What is wrong.
    why: &'static str,
    /// The place from 0 on.
    at: usize,
}

/// The members of the object that a line is, in their order.
pub(crate) struct Members<'l> {
    text: &'l str,
    members: Vec<Member<'l>>,
}

struct Member<'l> {
    /// As it is spelled, without quotes. A key of ours has no escapes.
    key: &'l str,
    /// Where the key begins, and the value ends.
    whole: Range<usize>,
    /// Where the value begins.
    value: usize,
}

/// Why a member is not what it must be.
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
    /// Reads an object in canonical form.
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

    /// Where a member with this key would begin, which is not there: others follow it.
    pub(super) fn place_of(&self, key: &str) -> usize {
        let next = self.members.iter().find(|member| member.key > key);
        next.map_or(self.text.len().saturating_sub(1), |member| member.whole.start)
    }

    /// The value of a member, if there is one.
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

    /// The value of a member that there must be.
    pub(crate) fn need<T: DeserializeOwned>(&self, key: &'static str) -> Result<T, MemberFault> {
        self.get(key)?.ok_or(MemberFault::Missing(key))
    }

    /// A value that has its own say about which members it takes.
    pub(crate) fn whole<T: DeserializeOwned>(&self) -> Result<T, MemberFault> {
        serde_json::from_str(self.text).map_err(MemberFault::Whole)
    }

    /// The bytes of the object without a member, in two pieces; all of them if there is none. The
    /// pieces together are in canonical form again.
    pub(super) fn without(&self, key: &str) -> [&'l [u8]; 2] {
        let bytes = self.text.as_bytes();
        let Some(n) = self.members.iter().position(|member| member.key == key) else {
            return [bytes, &[]];
        };
        let Range { start, end } = self.members[n].whole;
        // The comma before it goes with it; of the first member that after it.
        let (start, end) = match (n, self.members.len()) {
            (0, 1) => (start, end),
            (0, _) => (start, end + 1),
            _ => (start - 1, end),
        };
        [&bytes[..start], &bytes[end..]]
    }
}

/// Bytes that stand for themselves in a text.
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
    /// How many more values there may be.
    values: usize,
}

impl<'l> Scan<'l> {
    fn fault(&self, why: &'static str) -> NotCanonical {
        NotCanonical { why, at: self.at }
    }

    fn peek(&self) -> u8 {
        // A NUL is nowhere right.
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    /// Passes over a byte if it is the next one.
    fn skip(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == byte;
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, byte: u8, why: &'static str) -> Result<(), NotCanonical> {
        if self.skip(byte) { Ok(()) } else { Err(self.fault(why)) }
    }

    /// A value that may hold others down to a depth.
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
            _ => Err(self.fault("a value that no line has")),
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
            return Err(self.fault("no whole number below 2^53"));
        }
        self.pass(digits.len())
    }

    /// What is between the quotes of a text, as it is spelled.
    fn string(&mut self) -> Result<&'l str, NotCanonical> {
        self.expect(b'"', "no `\"")?;
        let start = self.at;
        loop {
            let rest = &self.bytes[self.at..];
            let plain = rest.iter().position(|byte| !PLAIN[usize::from(*byte)]);
            self.at += plain.ok_or(self.fault("a text without end"))?;
            match self.peek() {
                b'"' => break,
                b'\\' => self.escape()?,
                _ => return Err(self.fault("a control character")),
            }
        }
        self.at += 1;
        Ok(&self.text[start..self.at - 1])
    }

    /// An escape: of a quote, a backslash or a control character, each in its shortest spelling.
    fn escape(&mut self) -> Result<(), NotCanonical> {
        match self.bytes[self.at + 1..] {
            [b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't', ..] => self.pass(2),
            [b'u', b'0', b'0', b'0', b'0'..=b'7' | b'b' | b'e' | b'f', ..]
            | [b'u', b'0', b'0', b'1', b'0'..=b'9' | b'a'..=b'f', ..] => self.pass(6),
            _ => Err(self.fault("an escape that is not the shortest")),
        }
    }
}

/// The order of two keys: that of their UTF-16 code units.
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

/// The characters of a text whose escapes were checked.
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

    /// What the check must say: the bytes are what `serde_jcs` spells of the object that they are,
    /// and the object has values of the kinds that a line may have only.
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
            // Their UTF-8 is in another order than their UTF-16.
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
        fn the_check_accepts_what_serde_jcs_spells_and_nothing_else(
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
        fn a_member_is_left_out_with_its_comma(object in object(), key in "[abc]?") {
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
    fn a_fault_says_what_and_where() {
        insta::assert_snapshot!(why(""), @"not in canonical form (RFC 8785): no `{` at byte 0");
        insta::assert_snapshot!(why(r#"{"b":1,"a":2}"#), @"not in canonical form (RFC 8785): a key that is not in order at byte 7");
        insta::assert_snapshot!(why(r#"{"a":1.5}"#), @"not in canonical form (RFC 8785): no `,` or `}` at byte 6");
        insta::assert_snapshot!(why(r#"{"a":"\u000a"}"#), @"not in canonical form (RFC 8785): an escape that is not the shortest at byte 6");
        insta::assert_snapshot!(why(r#"{"a": 1}"#), @"not in canonical form (RFC 8785): a value that no line has at byte 5");
        assert_eq!(why("{}"), "");
    }

    #[test]
    fn depth_and_number_of_values_are_limited() {
        let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(why(&nested(MAX_DEPTH - 1)), "");
        assert!(why(&nested(MAX_DEPTH)).contains("nested too deep"));
        assert!(why(&nested(1 << 20)).contains("nested too deep"));
        let many = |values: usize| format!("{{\"a\":[0{}]}}", ",0".repeat(values - 2));
        assert_eq!(why(&many(MAX_VALUES)), "");
        assert!(why(&many(MAX_VALUES + 1)).contains("too many values"));
    }
}
