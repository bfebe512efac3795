;; Sleeps for an hour, then lets the call through.
(import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $timer (param i64) (result i32)))
(import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
(func $before (param i32) (result i32)
  (call $block (call $timer (i64.const 3600000000000)))
  (call $silent-pass))
