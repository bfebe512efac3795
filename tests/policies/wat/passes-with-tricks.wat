;; Lets the call through with a note of everything that acts on a terminal or reorders text, and an escape that would
;; become one in a second decoding.
(data (i32.const 1024) "a\1b]0;title\07b\1b[2Jc\00d\0d\0ae\7ff\c2\9bg\e2\80\aeh\e2\80\a8i\ef\bb\bfj\f3\a0\81\81k\\u001bl")
(func $before (param i32) (result i32) (call $pass (i32.const 1024) (i32.const 51)))
