raise RuntimeError("no model file\nin two lines")
