;; Panics.
(func $before (param i32) (result i32) unreachable)
