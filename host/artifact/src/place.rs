//! Puts data into a built component, where its program looks for it: no compiler is needed for that.
//!
//! The program keeps a *place* in its data: a mark, then two numbers of 32 bits, little-endian, the address and the length
//! of the data, both zero where there is none. The data goes behind everything that the program has in memory from the
//! start, as one more data segment, and the memory is made larger by as much.
//!
//! Facts: WebAssembly's binary format (memory, data and data count sections) and the component model's `Binary.md` (a core
//! module is a section of its own).

use thiserror::Error;

use crate::sections::{Cursor, HEADER, Malformed, Section, Sections, put_counted, put_number};

/// A core module, in a component.
const CORE_MODULE: u8 = 1;
/// The sections of a core module that are looked at.
const MEMORY: u8 = 5;
const DATA: u8 = 11;
const DATA_COUNT: u8 = 12;
/// The size of a page of memory, in bytes.
const PAGE: u64 = 65_536;
/// The most data that is put into a component, in bytes: half of the memory that a policy gets.
pub const LARGEST_DATA: usize = 32 * 1024 * 1024;

/// Why nothing was put into a component.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// The file is no component.
    #[error("the file is not a WebAssembly component")]
    NotAComponent,
    /// Nothing in it looks for the data.
    #[error("the component has no place for catalogs: it is not the shipped policy, nor built from it")]
    NoPlace,
    /// It is not as it has to be.
    #[error("the component cannot be read ({0})")]
    Malformed(&'static str),
    /// There is too much of it.
    #[error("there are more than {} MiB to put into the component", LARGEST_DATA / 1024 / 1024)]
    TooLarge,
}

impl From<Malformed> for PlaceError {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed.what)
    }
}

/// Puts `data` into the component whose program has a place with this mark, in the stead of what was put there before.
///
/// # Errors
///
/// Where there is no such place, or the component cannot be read.
pub fn put_data(component: &[u8], mark: &[u8], data: &[u8]) -> Result<Vec<u8>, PlaceError> {
    if data.len() > LARGEST_DATA {
        return Err(PlaceError::TooLarge);
    }
    let sections = Sections::new(component).map_err(|_| PlaceError::NotAComponent)?;
    let mut out = component[..HEADER].to_vec();
    let mut found = false;
    for section in sections {
        let section = section?;
        let has_mark = || memchr_of(section.contents, mark).is_some();
        if section.id == CORE_MODULE && !found && has_mark() {
            out.push(CORE_MODULE);
            put_counted(&mut out, &module_with(section.contents, mark, data)?);
            found = true;
        } else {
            out.extend_from_slice(&component[section.start..section.end]);
        }
    }
    if found { Ok(out) } else { Err(PlaceError::NoPlace) }
}

fn memchr_of(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}

/// The core module with the data in it.
fn module_with(module: &[u8], mark: &[u8], data: &[u8]) -> Result<Vec<u8>, PlaceError> {
    let sections: Vec<Section<'_>> = Sections::of_module(module)?.collect::<Result<_, _>>()?;
    let section = |id| sections.iter().find(|section| section.id == id);
    let memory = Memory::read(section(MEMORY).ok_or(PlaceError::NoPlace)?.contents)?;
    let mut segments = Segments::read(section(DATA).ok_or(PlaceError::NoPlace)?.contents)?;
    let pages = segments.put(mark, data, memory.pages)?;
    let mut out = module[..HEADER].to_vec();
    for section in &sections {
        let contents = match section.id {
            MEMORY => Memory { pages, ..memory }.write(),
            DATA => segments.write(),
            DATA_COUNT => number(segments.0.len() as u64),
            _ => {
                out.extend_from_slice(&module[section.start..section.end]);
                continue;
            }
        };
        out.push(section.id);
        put_counted(&mut out, &contents);
    }
    Ok(out)
}

fn number(value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_number(&mut bytes, value);
    bytes
}

/// A module's one memory.
#[derive(Clone, Copy)]
struct Memory {
    pages: u64,
    most: Option<u64>,
}

impl Memory {
    fn read(contents: &[u8]) -> Result<Self, PlaceError> {
        let mut cursor = Cursor::new(contents);
        let (count, flags) = (cursor.any_number()?, cursor.byte()?);
        // Neither shared nor with addresses of 64 bits, as no policy's is.
        if count != 1 || flags > 1 {
            return Err(PlaceError::Malformed("its memory is of an unusual kind"));
        }
        let pages = cursor.any_number()?.into();
        let most = if flags == 1 {
            Some(cursor.any_number()?.into())
        } else {
            None
        };
        Ok(Self { pages, most })
    }

    fn write(self) -> Vec<u8> {
        let mut bytes = vec![1, u8::from(self.most.is_some())];
        put_number(&mut bytes, self.pages);
        if let Some(most) = self.most {
            put_number(&mut bytes, most.max(self.pages));
        }
        bytes
    }
}

/// A module's data segments, each with its address.
struct Segments(Vec<(u32, Vec<u8>)>);

impl Segments {
    fn read(contents: &[u8]) -> Result<Self, PlaceError> {
        let mut cursor = Cursor::new(contents);
        let count = cursor.any_number()?;
        let mut segments = Vec::new();
        for _ in 0..count {
            // Active, in memory 0, at a constant: what a linker writes for a program with one memory of its own.
            let unusual = PlaceError::Malformed("its data is of an unusual kind");
            if cursor.byte()? != 0 || cursor.byte()? != 0x41 {
                return Err(unusual);
            }
            let address = cursor.signed_number()?;
            if cursor.byte()? != 0x0b {
                return Err(unusual);
            }
            let length = cursor.any_number()?;
            segments.push((address.cast_unsigned(), cursor.slice(length)?.to_vec()));
        }
        Ok(Self(segments))
    }

    /// Adds the data, or replaces it, and says in the place where it is. Gives the pages of memory that are needed then.
    fn put(&mut self, mark: &[u8], data: &[u8], pages: u64) -> Result<u64, PlaceError> {
        let place = |bytes: &[u8]| {
            let after = memchr_of(bytes, mark)? + mark.len();
            (bytes.len() >= after + 8).then_some(after)
        };
        let (index, after) = self
            .0
            .iter()
            .enumerate()
            .find_map(|(index, (_, bytes))| Some((index, place(bytes)?)))
            .ok_or(PlaceError::NoPlace)?;
        let before: [u8; 4] = self.0[index].1[after..after + 4].try_into().unwrap_or_default();
        let end = match u32::from_le_bytes(before) {
            0 => pages * PAGE,
            before => {
                self.0.retain(|(address, _)| *address != before);
                u64::from(before)
            }
        };
        let needed = (end + data.len() as u64).div_ceil(PAGE);
        let (Ok(at), Ok(length)) = (u32::try_from(end), u32::try_from(data.len())) else {
            return Err(PlaceError::TooLarge);
        };
        let numbers = &mut self.0[index].1[after..after + 8];
        numbers[..4].copy_from_slice(&at.to_le_bytes());
        numbers[4..].copy_from_slice(&length.to_le_bytes());
        self.0.push((at, data.to_vec()));
        Ok(needed)
    }

    fn write(&self) -> Vec<u8> {
        let mut bytes = number(self.0.len() as u64);
        for (address, segment) in &self.0 {
            bytes.extend([0, 0x41]);
            put_signed(&mut bytes, address.cast_signed());
            bytes.push(0x0b);
            put_counted(&mut bytes, segment);
        }
        bytes
    }
}

/// A signed LEB128 number, as short as it can be.
fn put_signed(out: &mut Vec<u8>, value: i32) {
    let mut value = value;
    loop {
        let low = (value & 0x7f) as u8;
        value >>= 7;
        if (value == 0 && low & 0x40 == 0) || (value == -1 && low & 0x40 != 0) {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: &[u8] = b"here: ";

    fn section(id: u8, contents: &[u8]) -> Vec<u8> {
        let mut out = vec![id];
        put_counted(&mut out, contents);
        out
    }

    /// A component of one module with two pages of memory and one segment at 1024, which holds a place.
    fn component() -> Vec<u8> {
        let mut segment = vec![1, 0, 0x41, 0x80, 0x08, 0x0b];
        put_counted(&mut segment, &[b"xx".as_slice(), MARK, &[0; 8], b"yy"].concat());
        let module = [
            b"\0asm\x01\0\0\0".to_vec(),
            section(MEMORY, &[1, 0, 2]),
            section(DATA_COUNT, &[1]),
            section(DATA, &segment),
        ]
        .concat();
        [b"\0asm\x0d\0\x01\0".to_vec(), section(CORE_MODULE, &module)].concat()
    }

    /// What a program finds: the pages, the address that the place says, and the bytes there.
    fn found(component: &[u8]) -> (u64, u32, Vec<u8>) {
        let module = Sections::new(component)
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .contents;
        let sections: Vec<_> = Sections::of_module(module)
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        let contents = |id| sections.iter().find(|section| section.id == id).unwrap().contents;
        let segments = Segments::read(contents(DATA)).unwrap().0;
        assert_eq!(contents(DATA_COUNT), number(segments.len() as u64));
        let place = &segments[0].1;
        assert!(place.starts_with(b"xx") && place.ends_with(b"yy"));
        let number = |at: usize| u32::from_le_bytes(place[at..at + 4].try_into().unwrap());
        let (at, length) = (number(2 + MARK.len()), number(6 + MARK.len()));
        let (_, data) = segments.iter().find(|(address, _)| *address == at).unwrap();
        assert_eq!(data.len() as u32, length);
        (Memory::read(contents(MEMORY)).unwrap().pages, at, data.clone())
    }

    #[test]
    fn data_lies_behind_everything_and_the_place_says_where() {
        let once = put_data(&component(), MARK, b"catalogs").unwrap();
        assert_eq!(found(&once), (3, 131_072, b"catalogs".to_vec()));
        let large = vec![7; 70_000];
        assert_eq!(
            found(&put_data(&component(), MARK, &large).unwrap()),
            (4, 131_072, large.clone())
        );
        // A second time, it takes the place of the first.
        assert_eq!(
            put_data(&put_data(&once, MARK, &large).unwrap(), MARK, b"catalogs"),
            Ok(once)
        );
    }

    #[test]
    fn what_has_no_place_is_refused() {
        let component = component();
        assert_eq!(put_data(&component, b"nowhere", b""), Err(PlaceError::NoPlace));
        assert_eq!(put_data(b"nothing", MARK, b""), Err(PlaceError::NotAComponent));
        let large = vec![0; LARGEST_DATA + 1];
        assert_eq!(put_data(&component, MARK, &large), Err(PlaceError::TooLarge));
        for end in HEADER + 1..component.len() {
            assert!(put_data(&component[..end], MARK, b"x").is_err(), "{end}");
        }
    }

    #[test]
    fn addresses_are_written_as_they_are_read() {
        for address in [
            0,
            63,
            64,
            65,
            1024,
            1_048_576,
            131_072,
            i32::MAX as u32,
            1 << 31,
            u32::MAX,
        ] {
            let mut bytes = Vec::new();
            put_signed(&mut bytes, address.cast_signed());
            let mut cursor = Cursor::new(&bytes);
            assert_eq!(cursor.signed_number().unwrap().cast_unsigned(), address);
            assert!(cursor.is_at_end());
        }
    }
}
