;; Lets the call through with a note that is no text.
(data (i32.const 1024) "\ff\fe\80")
(func $before (param i32) (result i32) (call $pass (i32.const 1024) (i32.const 3)))
