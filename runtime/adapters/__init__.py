"""Adapters: handlers that forward a message to an inference server and return its answer.

    adapters.kaito_openai.forward   OpenAI's API: KAITO, vLLM, NIM and others
    adapters.kserve_v2.forward      the Open Inference Protocol v2: KServe, Seldon, MLServer
    adapters.triton.forward         the same protocol with Triton's own extensions
    adapters.http.forward           any other HTTP server that speaks JSON

All are configured by the environment, which is read and checked when the module is imported: a
wrong setting ends the runtime before it takes a message. Each module says which variables it
reads; `_adapter`, `_client` and `_settings` say what all of them share.

Python 3.8 and later, standard library only.
"""
