;; Denies in 9,000 escape characters, each of which takes more room once it is made visible.
(func $before (param i32) (result i32)
  (memory.fill (i32.const 0x200000) (i32.const 27) (i32.const 9000))
  (call $deny (i32.const 0x200000) (i32.const 9000)))
