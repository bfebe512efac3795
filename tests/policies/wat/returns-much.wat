;; Denies in 40 MiB.
(func $before (param i32) (result i32)
  (drop (memory.grow (i32.const 700)))
  (memory.fill (i32.const 0x200000) (i32.const 120) (i32.const 0x2800000))
  (call $deny (i32.const 0x200000) (i32.const 0x2800000)))
