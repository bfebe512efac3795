;; Writes lines of the log without end.
(import "holdpoint:policy/log@0.1.0" "note" (func $note (param i32 i32)))
(func $before (param i32) (result i32)
  (memory.fill (i32.const 0x200000) (i32.const 120) (i32.const 0x100000))
  (loop $again
    (call $note (i32.const 0x200000) (i32.const 0x100000))
    (br $again))
  unreachable)
