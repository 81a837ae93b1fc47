//! Pipeline step 1: the flavors an actor names, merged into one resolved spec.
