;; Asks Zerto for ever new machines, a mebibyte of a name each, without end.
(import "holdpoint:policy/zerto@0.1.0" "find-vms-by-name" (func $find (param i32 i32 i32)))
(func $before (param i32) (result i32)
  (memory.fill (i32.const 0x200000) (i32.const 120) (i32.const 0x100000))
  (loop $again
    (global.set $top (i32.const 0x100000))
    (i32.store (i32.const 0x200000) (i32.or (i32.const 0x20202020) (global.get $count)))
    (global.set $count (i32.and (i32.const 0x1f1f1f1f) (i32.add (global.get $count) (i32.const 0x00070301))))
    (call $find (i32.const 0x200000) (i32.const 0x100000) (i32.const 64))
    (br $again))
  unreachable)
(global $count (mut i32) (i32.const 0))
