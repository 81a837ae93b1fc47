"""`adapters.kserve_v2.forward`: the Open Inference Protocol v2, as KServe, Seldon and MLServer
serve it. Sent to `/v2/models/<model>[/versions/<version>]/infer`.

The request is either the protocol's own,

    {"inputs": [{"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [1, 2]}], ...}

and then the result is the protocol's own answer; `shape` and `datatype` may be left out, other
members (`id`, `parameters`, `outputs`) are passed on. Or it is a map of names to nested lists,

    {"x": [[1.5, 2]], "text": ["hello"]}

and then so is the result. Booleans become BOOL, whole numbers INT64, other numbers FP32, texts
BYTES; for another type write `{"x": {"datatype": "FP64", "data": [[1.5, 2]]}}`.

    ASYA_TARGET_MODEL           none     model for requests without `model_name`
    ASYA_TARGET_MODEL_VERSION   none     version for requests without `model_version`; none is
                                         the server's choice
    ASYA_TARGET_API_PATH        /v2      what stands before `/models`
    ASYA_TARGET_MODEL_HEADERS   none     headers that contain the model's name, joined by `,`: for
                                         Seldon 2 `Seldon-Model,Seldon-Internal-Model`

While neither the model nor the server is ready, also a 400 and a 404 are tried again.
Address, credentials, timeout and retries: `_client`. Members of the payload: `_adapter`.
"""

import os

from adapters._open_inference import OpenInference

forward = OpenInference(os.environ)
