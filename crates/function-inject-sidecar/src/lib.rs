//! Pipeline step 4: the sidecar, state proxies and runtime script of a workload.
