//! Memory for a process that ends before it would be worth while to take any back.
//!
//! A decision asks for some hundred kilobytes in a thousand pieces. They are cut one after another from memory that the
//! program has from its start, which costs a few instructions each and touches no page twice. Nothing is taken back but
//! what was cut last. Where the arena is used up, and for everything large, the system's allocator takes over, so that a
//! process that runs for long, or holds an event of 20 MB, has all that it needs: what is lost to it is the arena.
#![expect(unsafe_code, reason = "an allocator hands out memory")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How much there is, in bytes: several times what a decision asks for. Pages that are not used cost nothing.
const SIZE: usize = 1024 * 1024;
/// What is larger than this, in bytes, is the system's matter.
const LARGE: usize = 32 * 1024;

/// The arena, and the system's allocator behind it.
pub(crate) struct Arena {
    memory: Memory,
    /// Where the next piece may begin.
    next: AtomicUsize,
}

#[repr(align(4096))]
struct Memory(UnsafeCell<[u8; SIZE]>);

// SAFETY: the pieces that are handed out do not overlap, and the memory is reached through them alone.
unsafe impl Sync for Memory {}

impl Arena {
    pub(crate) const fn new() -> Self {
        Self {
            memory: Memory(UnsafeCell::new([0; SIZE])),
            next: AtomicUsize::new(0),
        }
    }

    fn start(&self) -> *mut u8 {
        self.memory.0.get().cast()
    }

    /// Where in the arena a piece begins; none where it is the system's.
    fn offset(&self, piece: *mut u8) -> Option<usize> {
        let offset = piece.addr().wrapping_sub(self.start().addr());
        (offset < SIZE).then_some(offset)
    }

    /// Cuts off a piece; none where it is large or there is not enough left.
    fn cut(&self, layout: Layout) -> Option<*mut u8> {
        if layout.size() > LARGE || layout.align() > align_of::<Memory>() {
            return None;
        }
        let mut next = self.next.load(Ordering::Relaxed);
        loop {
            let begin = next.next_multiple_of(layout.align());
            let end = begin + layout.size();
            if end > SIZE {
                return None;
            }
            // Acquires what the last owner of these bytes did to them.
            match self
                .next
                .compare_exchange_weak(next, end, Ordering::Acquire, Ordering::Relaxed)
            {
                Ok(_) => return Some(self.start().wrapping_add(begin)),
                Err(moved) => next = moved,
            }
        }
    }

    /// Moves the end of the piece that was cut last; false where another one was.
    fn move_end(&self, from: usize, to: usize) -> bool {
        to <= SIZE
            && self
                .next
                .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
    }
}

// SAFETY: every piece is as large and as aligned as it was asked for, is handed out once until it is given back, and goes
// back to where it came from.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is the one that is asked for.
        self.cut(layout)
            .unwrap_or_else(|| unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match self.cut(layout) {
            Some(piece) => {
                // SAFETY: the piece was just cut, and is so large. It may have been another's.
                unsafe { ptr::write_bytes(piece, 0, layout.size()) };
                piece
            }
            // SAFETY: as above.
            None => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        match self.offset(piece) {
            Some(begin) => {
                self.move_end(begin + layout.size(), begin);
            }
            // SAFETY: what is not the arena's is the system's.
            None => unsafe { System.dealloc(piece, layout) },
        }
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Some(begin) = self.offset(piece) else {
            // SAFETY: what is not the arena's is the system's.
            return unsafe { System.realloc(piece, layout, size) };
        };
        if size <= LARGE && self.move_end(begin + layout.size(), begin + size) {
            return piece;
        }
        // SAFETY: the caller vouches for size and alignment; the old piece is so large, and the new one does not overlap it.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                ptr::copy_nonoverlapping(piece, moved, layout.size().min(size));
                self.dealloc(piece, layout);
            }
            moved
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(size: usize) -> Layout {
        Layout::from_size_align(size, 8).unwrap()
    }

    #[test]
    fn pieces_are_aligned_and_do_not_overlap() {
        static ARENA: Arena = Arena::new();
        let layouts = [(1, 1), (3, 8), (24, 16), (1, 4096), (7, 2)].map(|(size, align)| {
            let layout = Layout::from_size_align(size, align).unwrap();
            // SAFETY: no layout is empty.
            (unsafe { ARENA.alloc(layout) }.addr(), layout)
        });
        for (index, (begin, layout)) in layouts.iter().enumerate() {
            assert_eq!(begin % layout.align(), 0);
            for (other, other_layout) in &layouts[..index] {
                assert!(other + other_layout.size() <= *begin);
            }
        }
    }

    #[test]
    fn what_was_cut_last_grows_and_goes_back() {
        static ARENA: Arena = Arena::new();
        // SAFETY: each piece is given back once, with its layout.
        unsafe {
            let piece = ARENA.alloc(bytes(16));
            piece.write(7);
            assert_eq!(ARENA.realloc(piece, bytes(16), 400), piece);
            ARENA.dealloc(piece, bytes(400));
            let again = ARENA.alloc_zeroed(bytes(8));
            assert_eq!((again, again.read()), (piece, 0));
        }
    }

    #[test]
    fn what_is_no_longer_last_moves_with_its_bytes() {
        static ARENA: Arena = Arena::new();
        // SAFETY: as above.
        unsafe {
            let piece = ARENA.alloc(bytes(16));
            piece.write_bytes(7, 16);
            ARENA.alloc(bytes(16));
            for size in [64, LARGE + 1] {
                let moved = ARENA.realloc(piece, bytes(16), size);
                assert_ne!(moved, piece);
                assert_eq!((moved.read(), moved.add(15).read()), (7, 7));
            }
        }
    }

    #[test]
    fn the_system_gives_what_the_arena_does_not() {
        static ARENA: Arena = Arena::new();
        // SAFETY: as above.
        unsafe {
            let large = ARENA.alloc(bytes(LARGE + 1));
            assert_eq!(ARENA.offset(large), None);
            ARENA.dealloc(large, bytes(LARGE + 1));
            while let piece = ARENA.alloc(bytes(LARGE))
                && ARENA.offset(piece).is_some()
            {
                piece.write_bytes(1, LARGE);
            }
            assert!(ARENA.next.load(Ordering::Relaxed) > SIZE - LARGE);
            let zeroed = ARENA.alloc_zeroed(bytes(64));
            assert!(ARENA.offset(zeroed).is_some() || zeroed.read() == 0);
        }
    }

    #[test]
    fn threads_share_it() {
        static ARENA: Arena = Arena::new();
        let threads: Vec<_> = (0..4_u8)
            .map(|thread| {
                std::thread::spawn(move || {
                    for round in 1..2000 {
                        let layout = bytes(round % 90 + 1);
                        // SAFETY: as above.
                        unsafe {
                            let piece = ARENA.alloc(layout);
                            piece.write_bytes(thread, layout.size());
                            std::hint::spin_loop();
                            for at in 0..layout.size() {
                                assert_eq!(piece.add(at).read(), thread);
                            }
                            ARENA.dealloc(piece, layout);
                        }
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    }
}
