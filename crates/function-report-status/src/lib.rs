//! Pipeline step 6: status, conditions and readiness of an actor.
