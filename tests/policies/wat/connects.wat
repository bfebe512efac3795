;; Connects to 127.0.0.1:9, denies where that is not permitted, and lets the call through otherwise.
(import "wasi:sockets/instance-network@0.2.0" "instance-network" (func $network (result i32)))
(import "wasi:sockets/tcp-create-socket@0.2.0" "create-tcp-socket" (func $create (param i32 i32)))
(import "wasi:sockets/tcp@0.2.0" "[method]tcp-socket.start-connect"
  (func $connect (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
(data (i32.const 1024) "no socket is givenno connection is made")
(func $before (param i32) (result i32)
  (call $create (i32.const 0) (i32.const 64))
  (if (i32.load8_u (i32.const 64))
    (then (return (call $deny (i32.const 1024) (i32.const 18)))))
  ;; IPv4, port 9, 127.0.0.1; access-denied is 1.
  (call $connect (i32.load (i32.const 68)) (call $network)
    (i32.const 0) (i32.const 9) (i32.const 127) (i32.const 0) (i32.const 0) (i32.const 1)
    (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
    (i32.const 80))
  (if (i32.and (i32.eq (i32.load8_u (i32.const 80)) (i32.const 1)) (i32.eq (i32.load8_u (i32.const 81)) (i32.const 1)))
    (then (return (call $deny (i32.const 1042) (i32.const 21)))))
  (call $silent-pass))
