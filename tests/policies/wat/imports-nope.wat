;; Needs an interface that nobody has.
(import "wasi:nope/nope@0.2.0" "nope" (func $nope))
(func $before (param i32) (result i32) (call $nope) (call $silent-pass))
