;; Loops without end.
(func $before (param i32) (result i32) (loop $again (br $again)) unreachable)
