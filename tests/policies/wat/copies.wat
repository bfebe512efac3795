;; Copies 12 MiB without end: the interruption comes only between two copies.
(func $before (param i32) (result i32)
  (drop (memory.grow (i32.const 400)))
  (loop $again
    (memory.copy (i32.const 0x200000) (i32.const 0x200010) (i32.const 0xc00000))
    (br $again))
  unreachable)
