;; A component without the interface that a policy is.
(component)
