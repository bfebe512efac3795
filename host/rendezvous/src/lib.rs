//! Lets calls that wait at the same time share one checkpoint.
