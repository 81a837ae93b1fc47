//! Pipeline step 2: the Queue object of an actor.
