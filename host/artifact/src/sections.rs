//! The outermost layer of a component's binary format: eight bytes of header, then sections up to the last byte.
//!
//! Facts: WebAssembly's binary format (sections, LEB128, custom sections) and the component model's `Binary.md`
//! (header, section numbers). Nothing here allocates, and no input makes it panic.

use wasmparser::{BinaryReader, ComponentExportSectionReader, ComponentImportSectionReader};

use crate::refusal::Refusal;

/// `\0asm`, which every WebAssembly file begins with.
const MAGIC: [u8; 4] = *b"\0asm";

/// The version and layer of a component: version 13 of the format, layer 1.
const COMPONENT: [u8; 4] = [0x0d, 0, 1, 0];

/// The version and layer of a core module.
const CORE_MODULE: [u8; 4] = [1, 0, 0, 0];

/// How many bytes stand before the first section.
pub(crate) const HEADER: usize = 8;

pub(crate) const CUSTOM: u8 = 0;
const IMPORTS: u8 = 10;
const EXPORTS: u8 = 11;

/// Where a file is not what it should be, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed {
    pub(crate) what: &'static str,
    /// Bytes from the beginning of what was read.
    pub(crate) offset: usize,
}

impl From<Malformed> for Refusal {
    fn from(Malformed { what, offset }: Malformed) -> Self {
        Self::Malformed { what, offset }
    }
}

/// Reads bytes in order; every read is checked against the end.
#[derive(Clone)]
pub(crate) struct Cursor<'b> {
    bytes: &'b [u8],
    offset: usize,
}

impl<'b> Cursor<'b> {
    pub(crate) const fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    pub(crate) const fn offset(&self) -> usize {
        self.offset
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.offset == self.bytes.len()
    }

    pub(crate) const fn malformed(&self, what: &'static str) -> Malformed {
        Malformed {
            what,
            offset: self.offset,
        }
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        let [byte] = *self.array::<1>()?;
        Ok(byte)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<&'b [u8; N], Malformed> {
        let array = self.bytes[self.offset..]
            .first_chunk()
            .ok_or_else(|| self.malformed("ends too early"))?;
        self.offset += N;
        Ok(array)
    }

    pub(crate) fn slice(&mut self, length: u32) -> Result<&'b [u8], Malformed> {
        let rest = &self.bytes[self.offset..];
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let slice = rest
            .get(..length)
            .ok_or_else(|| self.malformed("a length reaches beyond the end"))?;
        self.offset += length;
        Ok(slice)
    }

    /// An unsigned LEB128 number of 32 bits. The format lets tools pad one with empty bytes, up to five in all; whether
    /// this one is as short as it can be is the second answer.
    fn number(&mut self) -> Result<(u32, bool), Malformed> {
        let mut value = 0;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.byte()?;
            let bits = u32::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(self.malformed("a number has more than 32 bits"));
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok((value, byte != 0 || shift == 0));
            }
        }
        Err(self.malformed("a number has more than five bytes"))
    }

    /// A number, however long it is written.
    pub(crate) fn any_number(&mut self) -> Result<u32, Malformed> {
        Ok(self.number()?.0)
    }

    /// A signed number of 32 bits.
    pub(crate) fn signed_number(&mut self) -> Result<i32, Malformed> {
        let mut value: i64 = 0;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.byte()?;
            value |= i64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                // The sign is the last group's highest bit.
                let unused = 64 - 7 - shift;
                return i32::try_from(value << unused >> unused)
                    .map_err(|_| self.malformed("a number has more than 32 bits"));
            }
        }
        Err(self.malformed("a number has more than five bytes"))
    }

    /// A number that is written as short as it can be.
    pub(crate) fn short_number(&mut self) -> Result<u32, Malformed> {
        match self.number()? {
            (value, true) => Ok(value),
            (_, false) => Err(self.malformed("a number is longer than it has to be")),
        }
    }

    /// As many bytes as the number before them says.
    pub(crate) fn counted(&mut self) -> Result<&'b [u8], Malformed> {
        let length = self.short_number()?;
        self.slice(length)
    }
}

/// One section.
#[derive(Clone, Copy)]
pub(crate) struct Section<'b> {
    pub(crate) id: u8,
    /// A custom section's name; empty for any other.
    pub(crate) name: &'b [u8],
    /// What follows the section's size, and in a custom section its name.
    pub(crate) contents: &'b [u8],
    /// Whether its lengths are written as short as they can be.
    pub(crate) short: bool,
    /// Where the section begins and ends in the file.
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// The sections of a file whose header has been looked at, up to the first that is malformed.
#[derive(Clone)]
pub(crate) struct Sections<'b> {
    cursor: Cursor<'b>,
}

impl<'b> Sections<'b> {
    /// Looks at the header.
    pub(crate) fn new(bytes: &'b [u8]) -> Result<Self, Refusal> {
        let mut cursor = Cursor::new(bytes);
        if cursor.array().ok() != Some(&MAGIC) {
            return Err(Refusal::NotWasm);
        }
        match cursor.array().ok() {
            Some(&COMPONENT) => Ok(Self { cursor }),
            Some(&CORE_MODULE) => Err(Refusal::CoreModule),
            _ => Err(Refusal::UnknownFormat),
        }
    }

    /// The sections of a core module, which are laid out alike.
    pub(crate) fn of_module(bytes: &'b [u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(bytes);
        if (cursor.array()?, cursor.array()?) != (&MAGIC, &CORE_MODULE) {
            return Err(cursor.malformed("is no core module"));
        }
        Ok(Self { cursor })
    }

    fn read(&mut self) -> Result<Section<'b>, Malformed> {
        let start = self.cursor.offset();
        let id = self.cursor.byte()?;
        let (size, short) = self.cursor.number()?;
        let contents = self.cursor.slice(size)?;
        let end = self.cursor.offset();
        let mut section = Section {
            id,
            name: &[],
            contents,
            short,
            start,
            end,
        };
        if id == CUSTOM {
            let unnamed = |malformed: Malformed| Malformed {
                offset: end - contents.len() + malformed.offset,
                ..malformed
            };
            let mut cursor = Cursor::new(contents);
            let (length, short_name) = cursor.number().map_err(unnamed)?;
            section.name = cursor.slice(length).map_err(unnamed)?;
            section.contents = &contents[cursor.offset()..];
            section.short &= short_name;
        }
        Ok(section)
    }
}

impl<'b> Iterator for Sections<'b> {
    type Item = Result<Section<'b>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.cursor.is_at_end() {
            return None;
        }
        let section = self.read();
        if section.is_err() {
            self.cursor.offset = self.cursor.bytes.len();
        }
        Some(section)
    }
}

/// Tells every import's name, in the component's order, until one is refused.
pub(crate) fn each_import<'b>(
    sections: Sections<'b>,
    mut tell: impl FnMut(&'b str) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    for section in sections {
        let section = section?;
        if section.id == IMPORTS {
            let reader = BinaryReader::new(section.contents, section.end - section.contents.len());
            for import in ComponentImportSectionReader::new(reader).map_err(|error| unreadable(&error))? {
                tell(import.map_err(|error| unreadable(&error))?.name.name)?;
            }
        }
    }
    Ok(())
}

/// Tells every export's name, as [`each_import`] does.
pub(crate) fn each_export<'b>(
    sections: Sections<'b>,
    mut tell: impl FnMut(&'b str) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    for section in sections {
        let section = section?;
        if section.id == EXPORTS {
            let reader = BinaryReader::new(section.contents, section.end - section.contents.len());
            for export in ComponentExportSectionReader::new(reader).map_err(|error| unreadable(&error))? {
                tell(export.map_err(|error| unreadable(&error))?.name.name)?;
            }
        }
    }
    Ok(())
}

fn unreadable(error: &wasmparser::BinaryReaderError) -> Refusal {
    Refusal::Malformed {
        what: "an import or export cannot be read",
        offset: error.offset(),
    }
}

/// Appends a custom section, its lengths as short as they can be.
pub(crate) fn put_custom(out: &mut Vec<u8>, name: &str, contents: &[u8]) {
    let mut body = Vec::with_capacity(name.len() + contents.len() + 8);
    put_counted(&mut body, name.as_bytes());
    body.extend_from_slice(contents);
    out.push(CUSTOM);
    put_counted(out, &body);
}

/// Appends these bytes, and how many they are before them.
pub(crate) fn put_counted(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a number, as short as it can be.
pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(bytes: &[u8]) -> Result<(u32, bool), &'static str> {
        Cursor::new(bytes).number().map_err(|malformed| malformed.what)
    }

    #[test]
    fn reads_numbers_of_32_bits_and_none_beyond() {
        assert_eq!(number(&[0x00]), Ok((0, true)));
        assert_eq!(number(&[0x7f]), Ok((127, true)));
        assert_eq!(number(&[0x80, 0x01]), Ok((128, true)));
        assert_eq!(number(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Ok((u32::MAX, true)));
        assert_eq!(number(&[0x81, 0x80, 0x80, 0x80, 0x00]), Ok((1, false)));
        assert_eq!(number(&[0x80, 0x00]), Ok((0, false)));
        assert_eq!(
            number(&[0xff, 0xff, 0xff, 0xff, 0x1f]),
            Err("a number has more than 32 bits")
        );
        assert_eq!(
            number(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x00]),
            Err("a number has more than five bytes")
        );
        assert_eq!(number(&[0x80]), Err("ends too early"));
    }

    #[test]
    fn lengths_are_written_as_they_are_read() {
        for length in [0, 1, 127, 128, 300, 16_383, 16_384, 70_000] {
            let mut out = Vec::new();
            put_counted(&mut out, &vec![7; length]);
            let mut cursor = Cursor::new(&out);
            assert_eq!(cursor.counted().unwrap().len(), length);
            assert!(cursor.is_at_end());
        }
    }
}
