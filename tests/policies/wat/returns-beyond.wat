;; Lets the call through with a note that lies outside its memory.
(func $before (param i32) (result i32) (call $pass (i32.const 0x7fffff00) (i32.const 1000)))
