"""Models: the arithmetic of transformers, on top of statements of the notation.

A model is a YAML file of sizes. It expands to statements, such as `X[B, T, D] · W_in[D, F] -> Up[B,
T, F]`; parameters, FLOPs, the cache and bytes are counted from these.

    form.py         the keys of a model file
    sizes.py        the sizes of a model, and what follows from them
    reading.py      from a file, by the name of a shipped model, or from a mapping
    works.py        its statements: how often each occurs, what its arrays are
    counting.py     parameters, FLOPs, elements of the cache
    dtypes.py       types of weights, the cache, activations, matmuls
    asked.py        what is asked beside the sizes: a machine, a batch, element types
    training.py     FLOPs, time and memory of a training
    cut.py          what the axes of a mesh cut, and what is then held several times
    serving.py      the cache, what fits, the time of a step, prefill
    layer.py        one layer as statements with a mesh, forward and backward
    sharded.py      the collectives of a layer on a mesh
    rates.py        tokens and queries a second, servers that prefill
    quantities.py   all of it by name
    missing.py      what was asked for and does not follow, and why
"""

from shardsim.model.asked import Asked, read_asked
from shardsim.model.counting import Passed
from shardsim.model.missing import Missing, missing
from shardsim.model.quantities import Quantities, quantities
from shardsim.model.reading import Reference, model_names, read_model
from shardsim.model.sizes import Group, Latent, Model, NotKnownError
from shardsim.model.works import Part, Role, Work, works

__all__ = [
    "Asked",
    "Group",
    "Latent",
    "Missing",
    "Model",
    "NotKnownError",
    "Part",
    "Passed",
    "Quantities",
    "Reference",
    "Role",
    "Work",
    "missing",
    "model_names",
    "quantities",
    "read_asked",
    "read_model",
    "works",
]
