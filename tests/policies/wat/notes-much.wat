;; Hands the host a line of 40 MiB, then lets the call through.
(import "holdpoint:policy/log@0.1.0" "note" (func $note (param i32 i32)))
(func $before (param i32) (result i32)
  (drop (memory.grow (i32.const 700)))
  (memory.fill (i32.const 0x200000) (i32.const 120) (i32.const 0x2800000))
  (call $note (i32.const 0x200000) (i32.const 0x2800000))
  (call $silent-pass))
