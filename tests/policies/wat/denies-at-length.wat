;; Denies in 100,000 letters.
(func $before (param i32) (result i32)
  (memory.fill (i32.const 0x200000) (i32.const 120) (i32.const 100000))
  (call $deny (i32.const 0x200000) (i32.const 100000)))
