;; Denies without a reason.
(func $before (param i32) (result i32) (call $deny (i32.const 1024) (i32.const 0)))
