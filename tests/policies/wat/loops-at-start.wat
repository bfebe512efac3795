;; Loops without end before anything is asked of it.
(func $begin (loop $again (br $again)))
(start $begin)
(func $before (param i32) (result i32) (call $silent-pass))
