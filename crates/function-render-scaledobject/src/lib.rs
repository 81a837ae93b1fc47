//! Pipeline step 5: the KEDA ScaledObject and TriggerAuthentication of an actor.
