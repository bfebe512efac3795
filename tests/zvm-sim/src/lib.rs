//! A simulated Zerto Virtual Manager: a real HTTPS server with journals, tasks and scripted troubles.
