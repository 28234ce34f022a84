"""How a mesh cuts a model: sequences over some axes, layers over the others; what is held twice.

Heads are cut by their keys first, and where there are fewer of these than chips the queries of each
are: then several chips hold the same keys and values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shardsim.documents import Faults
from shardsim.errors import InputError, MeshError, NotYetError, ScenarioError
from shardsim.model.sizes import Model, NotKnownError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shardsim.mesh import Mesh
    from shardsim.model.asked import Asked

__all__ = ["Cut", "check_extents", "cut_of", "serving_cut"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """What the axes of a mesh cut; every axis cuts something.

    Attributes:
        mesh: The mesh.
        tensor: Axes that layers are cut over: F and heads, and D between the matmuls.
        data: Axes that sequences are cut over.
        keys: Axes and parts of axes of `tensor` that K is cut over.
        queries: The others of `tensor`, that G is cut over.
        key_ways: How many ways K is cut.
    """

    mesh: Mesh
    tensor: tuple[str, ...]
    data: tuple[str, ...]
    keys: tuple[str, ...]
    queries: tuple[str, ...]
    key_ways: int

    @property
    def tensor_ways(self) -> int:
        """How many ways a layer is cut."""
        return self.mesh.ways(self.tensor)

    @property
    def data_ways(self) -> int:
        """How many ways the sequences are cut; each part needs the weights, one copy of them."""
        return self.mesh.ways(self.data)

    @property
    def cache_copies(self) -> int:
        """How many chips hold the same keys and values: those that share a sequence and a head."""
        return self.tensor_ways // self.key_ways


def cut_of(model: Model, asked: Asked) -> Cut:
    """How the mesh that is asked for cuts a model.

    Raises:
        NotYetError: the model has experts or latent attention.
        NotKnownError: the machine, the mesh or a size of the model is missing.
        MeshError: the mesh does not lie over the machine, or the axes do not go with the heads.

    >>> from shardsim.model import read_asked, read_model
    >>> cut = cut_of(read_model("llama-3-70b"), read_asked(topology="v5e:4x4", mesh="X=16"))
    >>> cut.keys, cut.queries, cut.cache_copies
    (('X:(1)8',), ('X:(8)2',), 2)
    """
    from shardsim.scenario import make_mesh

    machine, axes = asked.machine, asked.given("mesh")
    if model.experts is not None or model.latent is not None:
        what = "experts" if model.experts is not None else "latent attention"
        why = f"the collectives of a layer with {what} are not worked out yet"
        raise NotYetError(why, "leave the mesh out, or plan its statements with shardsim plan")
    mesh = make_mesh(machine, mesh=axes)
    if asked.machine_chips != mesh.topology.size:
        why = f"chips is {asked.machine_chips}, and the mesh has {mesh.topology.size}"
        raise MeshError(why, "leave chips out: the mesh says how many there are")
    tensor, data = _axes(asked, mesh)
    keys, queries, key_ways = _heads(model, mesh, tensor)
    return Cut(mesh=mesh, tensor=tensor, data=data, keys=keys, queries=queries, key_ways=key_ways)


def serving_cut(model: Model, asked: Asked) -> Cut | None:
    """How a model that is served is cut; None without a mesh: then all is spread evenly.

    Raises:
        NotKnownError: the mesh is that of a training; and see `cut_of`.
    """
    if asked.mesh is None:
        return None
    if asked.trains:
        why = "the mesh is that of a training, since its tokens are given"
        raise NotKnownError(why, "give the sequences that are generated together: batch")
    return cut_of(model, asked)


def check_extents(model: Model, cut: Cut, sequences: int, *, training: bool) -> None:
    """Refuses extents that the axes do not divide, before statements are made of them.

    Raises:
        MeshError: one of them is not divided.
        InputErrors: several are not.
    """
    faults = Faults()
    faults.errors += _batch_fault(cut, sequences)
    faults.errors += _size_faults(model, cut, ("d_model", "d_ff"), cut.tensor, "tensor")
    if training:
        faults.errors += _size_faults(model, cut, ("d_model",), cut.data, "data")
    faults.raise_any()


def _batch_fault(cut: Cut, sequences: int) -> Iterator[InputError]:
    ways = cut.data_ways
    if sequences % ways:
        said = "1 sequence" if sequences == 1 else f"{sequences:,} sequences"
        yield MeshError(
            f"a batch of {said} cannot be cut over {_named(cut.mesh, cut.data)}, the axes of data",
            f"give a multiple of {ways} sequences, or other axes for data",
        )


def _size_faults(
    model: Model, cut: Cut, keys: Iterable[str], axes: tuple[str, ...], under: str
) -> Iterator[InputError]:
    for key in keys:
        size = model.size(key)
        if size % cut.mesh.ways(axes):
            yield MeshError(
                f"{key} {size} of {model.name} cannot be cut over {_named(cut.mesh, axes)}, "
                f"the axes of {under}",
                f"take axes whose sizes divide {size}",
            )


def _named(mesh: Mesh, axes: Iterable[str]) -> str:
    return ",".join(f"{axis}={mesh.sizes[axis]}" for axis in axes)


def _axes(asked: Asked, mesh: Mesh) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The axes of layers and of sequences: all of the mesh, each once."""
    data = asked.data
    known = tuple(mesh.sizes)
    tensor = tuple(a for a in known if a not in data) if asked.tensor is None else asked.tensor
    for axis in (*tensor, *data):
        if axis not in known:
            raise MeshError(f"there is no axis {axis}; the mesh has {', '.join(known)}", "name one")
    for name, axes in (("tensor", tensor), ("data", data)):
        repeated = next((axis for axis in axes if axes.count(axis) > 1), None)
        if repeated is not None:
            raise MeshError(f"axis {repeated} is twice under {name}", "name it once")
    twice = next((axis for axis in tensor if axis in data), None)
    if twice is not None:
        raise MeshError(f"axis {twice} is under tensor and under data", "name it under one")
    idle = next((axis for axis in known if axis not in (*tensor, *data)), None)
    if idle is not None:
        why = f"axis {idle} is neither under tensor nor under data: its chips would do the same"
        raise MeshError(why, f"add {idle} to one of them, or leave it out of the mesh")
    return tensor, data


def _heads(
    model: Model, mesh: Mesh, tensor: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """What K is cut over and what G, and how many ways K: K first, as far as its extent goes."""
    heads = left = model.extent("K")
    keys: list[str] = []
    queries: list[str] = []
    for axis in tensor:
        size = mesh.sizes[axis]
        if left % size == 0:
            keys.append(axis)
            left //= size
        elif left == 1:
            queries.append(axis)
        elif size % left == 0:
            keys.append(f"{axis}:(1){left}")
            queries.append(f"{axis}:({left}){size // left}")
            left = 1
        else:
            why = f"axis {axis} of {size} chips does not divide {left} kv_heads, nor they it"
            raise MeshError(why, "take an axis of another size for tensor")
    ways = heads // left
    each = mesh.ways(tensor) // ways
    if model.extent("G") % each:
        raise ScenarioError(
            f"{model.size('heads')} heads of {model.name} cannot be cut over "
            f"{_named(mesh, tensor)}, the axes of tensor: {each} ways of the "
            f"{model.extent('G')} that share a kv_head",
            "take axes whose sizes divide the heads, or others for data",
        )
    return tuple(keys), tuple(queries), ways
