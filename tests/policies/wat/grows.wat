;; Takes memory and table elements without end, and uses what it gets.
(table $elements 1 funcref)
(func $before (param i32) (result i32) (local $pages i32)
  (loop $again
    (local.set $pages (memory.grow (i32.const 1)))
    (if (i32.ne (local.get $pages) (i32.const -1))
      (then (memory.fill (i32.mul (local.get $pages) (i32.const 65536)) (i32.const 7) (i32.const 65536))))
    (drop (table.grow $elements (ref.null func) (i32.const 1000)))
    (br $again))
  unreachable)
