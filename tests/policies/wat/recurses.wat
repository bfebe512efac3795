;; Calls itself without end.
(func $before (param i32) (result i32) (i32.add (i32.const 1) (call $before (local.get 0))))
