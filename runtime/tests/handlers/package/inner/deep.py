def process(payload):
    return "package.inner.deep.process"
