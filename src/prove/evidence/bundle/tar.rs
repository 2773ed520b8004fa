//! The container of a bundle: USTAR in canonical form (EVID-12).
//!
//! A reader makes the header again from the name and size, and compares all of it with the one that
//! it read. So a link, folder, extension, owner or time cannot be in a bundle, and every changed
//! byte is noticed. A tar library would accept what this module refuses.

const BLOCK: usize = 512;
const NAME: usize = 100;
/// Byte ranges of the size and the checksum in a header.
const SIZE: std::ops::Range<usize> = 124..136;
const CHECKSUM: std::ops::Range<usize> = 148..156;

/// Reason why bytes are not a valid container.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {at}: {why}")]
pub(crate) struct TarFault {
    /// Offset of the block.
    at: usize,
    why: &'static str,
}

/// Returns true if a file of a bundle can have this name. It is one name, or a folder and a name,
/// of ASCII letters, digits and `.`; a part cannot begin with `.`.
fn is_name(name: &str) -> bool {
    let is_part = |part: &str| {
        let mut bytes = part.bytes();
        bytes.next().is_some_and(|b| b.is_ascii_alphanumeric())
            && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'.')
    };
    name.len() < NAME && name.split('/').count() <= 2 && name.split('/').all(is_part)
}

fn header(name: &str, size: usize) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(SIZE.start, format!("{size:011o}\0").as_bytes());
    put(136, b"00000000000\0");
    put(CHECKSUM.start, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    put(329, b"0000000\0");
    put(337, b"0000000\0");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[CHECKSUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

/// Returns the bytes of a container. The files must be in the order of their names.
pub(crate) fn write<'f>(files: impl IntoIterator<Item = (&'f str, &'f [u8])>) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, bytes) in files {
        out.extend_from_slice(&header(name, bytes.len()));
        out.extend_from_slice(bytes);
        out.resize(out.len().next_multiple_of(BLOCK), 0);
    }
    out.resize(out.len() + 2 * BLOCK, 0);
    out
}

/// Parses a container. Returns its files, in the order of their names.
///
/// # Errors
/// Returns the first block that [`write`] would not have written.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<(&str, &[u8])>, TarFault> {
    let mut files: Vec<(&str, &[u8])> = Vec::new();
    let mut at = 0;
    loop {
        let fault = |why| TarFault { at, why };
        let block = bytes.get(at..at + BLOCK).ok_or(fault("the file ends in the middle"))?;
        if block.iter().all(|byte| *byte == 0) {
            let is_end = bytes.len() == at + 2 * BLOCK && bytes[at..].iter().all(|b| *b == 0);
            return if is_end { Ok(files) } else { Err(fault("not the end of a bundle")) };
        }
        let (name, size) = fields(block).ok_or(fault("not a header of a bundle"))?;
        if header(name, size) != block {
            return Err(fault("not a header of a bundle"));
        }
        if files.last().is_some_and(|(last, _)| *last >= name) {
            return Err(fault("names are repeated or not in order"));
        }
        let start = at + BLOCK;
        let end = start.checked_add(size).filter(|end| *end <= bytes.len());
        let end = end.ok_or(fault("the file ends in the middle"))?;
        let next = end.next_multiple_of(BLOCK);
        let padding = bytes.get(end..next).ok_or(fault("the file ends in the middle"))?;
        if padding.iter().any(|byte| *byte != 0) {
            return Err(fault("bytes follow the end of a file"));
        }
        files.push((name, &bytes[start..end]));
        at = next;
    }
}

/// Parses the name and the size of a header that [`header`] can have written.
fn fields(block: &[u8]) -> Option<(&str, usize)> {
    let end = block[..NAME].iter().position(|byte| *byte == 0)?;
    let name = std::str::from_utf8(&block[..end]).ok().filter(|name| is_name(name))?;
    let digits = std::str::from_utf8(&block[SIZE][..11]).ok()?;
    let is_octal = digits.bytes().all(|byte| (b'0'..b'8').contains(&byte));
    let size = is_octal.then(|| usize::from_str_radix(digits, 8).ok()).flatten()?;
    Some((name, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [(&str, &[u8]); 3] = [("a.md", b"text"), ("b/1.json", b""), ("c", &[7; 512])];

    fn refused(bytes: &[u8]) -> String {
        read(bytes).map_or_else(|why| why.to_string(), |files| format!("{files:?}"))
    }

    #[test]
    fn tar_reads_what_it_writes() {
        let bytes = write(FILES);
        assert_eq!(read(&bytes), Ok(FILES.to_vec()));
        assert_eq!(bytes, write(FILES));
        assert_eq!(read(&write([])), Ok(Vec::new()));
    }

    #[test]
    fn tar_refuses_any_changed_byte_outside_of_the_files() {
        let bytes = write(FILES);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let is_content = (512..516).contains(&at) || (2048..2560).contains(&at);
            match read(&changed) {
                Ok(files) if is_content => assert_ne!(files, FILES),
                // Another name or size needs another checksum.
                Ok(files) => panic!("byte {at}: {files:?}"),
                Err(_) => assert!(!is_content, "byte {at}"),
            }
        }
        for end in 0..bytes.len() {
            assert!(read(&bytes[..end]).is_err(), "{end}");
        }
        assert!(read(&[&bytes[..], &[0; 512]].concat()).is_err());
    }

    #[test]
    fn hostile_names_kinds_and_orders_are_refused() {
        for name in ["/etc/passwd", "../a", "a/../b", ".a", "a//b", "a/", "a/b/c", "", "a b", "é"]
        {
            assert!(!is_name(name), "{name}");
            let block = header(name, 0);
            let bytes = [&block[..], &[0; 1024]].concat();
            assert!(read(&bytes).is_err(), "{name}");
        }
        let not_header = "byte 0: not a header of a bundle";
        for kind in *b"1256xgLK\0" {
            let mut bytes = write([("a", &b""[..])]);
            let sum: i32 = bytes[..512].iter().map(|b| i32::from(*b)).sum();
            bytes[156] = kind;
            assert_eq!(refused(&bytes), not_header);
            // A valid checksum does not make it a valid header.
            let own: i32 = bytes[CHECKSUM].iter().map(|b| i32::from(*b)).sum();
            let right = sum - own + 8 * 32 - i32::from(b'0') + i32::from(kind);
            bytes[CHECKSUM].copy_from_slice(format!("{right:06o}\0 ").as_bytes());
            assert_eq!(refused(&bytes), not_header);
        }
        let twice = write([("a", &b"1"[..]), ("a", &b"2"[..])]);
        assert_eq!(refused(&twice), "byte 1024: names are repeated or not in order");
        assert!(read(&write([("b", &b""[..]), ("a", &b""[..])])).is_err());
        let mut long = header("a", 0o77_777_777_777).to_vec();
        long.resize(4096, 0);
        assert_eq!(refused(&long), "byte 0: the file ends in the middle");
    }
}
