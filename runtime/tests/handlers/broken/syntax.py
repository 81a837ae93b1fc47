def process(payload:
    return payload
