//! Asks a Zerto Virtual Manager for VMs and captures tagged checkpoints.
