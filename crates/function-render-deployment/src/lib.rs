//! Pipeline step 3: the workload, its ServiceAccount and its ActorHealth.
