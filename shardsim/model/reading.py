"""Models from files, from shipped ones by name, and from mappings; all their faults at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shardsim.catalogue import data_folder
from shardsim.documents import (
    Document,
    Faults,
    described,
    nearest,
    path_of,
    plain,
    read_document,
    validate,
)
from shardsim.errors import InputError, ScenarioError
from shardsim.model.form import ModelForm
from shardsim.model.sizes import Latent, Model

if TYPE_CHECKING:
    from shardsim.errors import Place

__all__ = ["Reference", "model_names", "read_model"]

Reference = str | os.PathLike[str] | Mapping[str, object] | Model
SUFFIXES = (".yaml", ".yml")
OF_EXPERTS = ("experts_per_token", "expert_d_ff", "shared_experts", "dense_layers")


def model_names() -> list[str]:
    """The names of the models that come with the package."""
    return sorted(path.stem for path in (data_folder("scenarios") / "models").glob("*.yaml"))


def read_model(reference: Reference) -> Model:
    """The model that a reference means.

    Args:
        reference: The name of a shipped model, the path of a YAML file, the mapping that such a
            file holds, or a model, which is returned. `like` in a file or mapping names another.

    Raises:
        InputError: there is none of that name, or one thing is wrong with it.
        InputErrors: several things are.

    >>> read_model({"like": "llama-3-70b", "kv_heads": 1}).size("kv_heads")
    1
    """
    if isinstance(reference, Model):
        return reference
    if isinstance(reference, Mapping):
        return _model(Document(plain(reference)), None)
    if not isinstance(reference, str | os.PathLike):
        why = f"a model is a name, a YAML file or a mapping, not {described(reference)}"
        raise ScenarioError(why, "write llama-3-70b, or {layers: 80, d_model: 8192, ...}")
    path = _found(os.fspath(reference), None, None)
    return _model(read_document(path), path)


def _found(text: str, base: Path | None, place: Place | None) -> Path:
    """The file of a reference: here, beside the file that names it, or shipped."""
    folders = [Path(), *([] if base is None else [base])]
    if text.endswith(SUFFIXES):
        for folder in folders:
            if (folder / text).is_file():
                return path_of(folder / text, "a model file")
    name = Path(text).name.removesuffix(".yaml")
    names = model_names()
    if name in names and Path(text).parent in (Path(), Path("models"), Path("scenarios/models")):
        return data_folder("scenarios") / "models" / f"{name}.yaml"
    raise ScenarioError(
        f"there is no model {text!r}; shipped: {', '.join(names)}",
        nearest(name, names) or "name one of these, or the path of a YAML file",
        place,
    )


def _model(document: Document, path: Path | None) -> Model:
    """A model from what a file says, and the one that it is like."""
    whole = _whole(document, path, ())
    return _made(_checked(whole), path)


def _whole(document: Document, path: Path | None, seen: tuple[Path, ...]) -> Document:
    """The document with the keys of the model that it is like; its own hold before those.

    Both are checked by themselves, so that a fault is placed in the file that has it.

    Raises:
        InputError: there is no such model, or one of the two has a fault.
        InputErrors: they have several.
    """
    if not isinstance(document.data, Mapping) or not document.has("like"):
        return document
    place = document.place("like")
    like = document.data["like"]
    if not isinstance(like, str):
        raise ScenarioError(f"like must name a model; it is {described(like)}", "", place)
    other = _found(like, None if path is None else path.parent, place)
    if other in seen:
        raise ScenarioError(f"the model is like itself: {like}", "leave like out", place)
    faults = Faults()
    base = faults.attempt(lambda: _base(other, (*seen, other)))
    faults.attempt(lambda: validate(document, ModelForm, "the model"))
    faults.raise_any()
    assert base is not None
    own = {key: value for key, value in document.data.items() if key != "like"}
    renamed = {} if "name" in own else {"name": f"{base.data.get('name', other.stem)}, changed"}
    return Document({**base.data, **renamed, **own}, document.marks)


def _base(path: Path, seen: tuple[Path, ...]) -> Document:
    """The document of a model that another is like, checked by itself."""
    document = _whole(read_document(path), path, seen)
    _checked(document)
    return document


def _checked(document: Document) -> ModelForm:
    """The form of a document, whose sizes go together."""
    form = validate(document, ModelForm, "the model")
    _check(form, document)
    return form


def _made(form: ModelForm, path: Path | None) -> Model:
    """The model of a form."""
    known = {key: value for key, value in form if key not in ("like", "latent")}
    if "name" not in form.model_fields_set and path is not None:
        known["name"] = path.stem
    latent = None if form.latent is None else Latent(**dict(form.latent))
    return Model(**known, latent=latent)


def _check(form: ModelForm, document: Document) -> None:
    """Refuses sizes that do not go together.

    Raises:
        InputError: one of them.
        InputErrors: several.
    """
    faults = Faults()

    def refuse(keys: str, why: str, way_out: str) -> None:
        faults.errors.append(_fault(document, keys.split(), why, way_out))

    if form.heads and form.kv_heads and form.heads % form.kv_heads:
        refuse(
            "kv_heads heads",
            f"{form.heads} heads cannot share {form.kv_heads} kv_heads evenly",
            "write a kv_heads that divides heads",
        )
    if form.heads and form.d_model and not form.head_size and form.d_model % form.heads:
        refuse(
            "heads d_model",
            f"d_model {form.d_model} is not a multiple of {form.heads} heads",
            "add head_size",
        )
    if form.latent is not None and (form.kv_heads or form.head_size):
        key = "kv_heads" if form.kv_heads else "head_size"
        refuse(f"{key} latent", f"latent attention has no {key}", f"leave {key} out, or latent")
    _check_experts(form, refuse)
    for key in ("parameters", "active_parameters"):
        number = getattr(form, key)
        if number is not None and number.denominator != 1:
            refuse(key, f"{key} must be a whole number; it is {float(number)}", "write 70e9")
    if form.parameters and form.active_parameters and form.active_parameters > form.parameters:
        why = "more active_parameters than parameters"
        refuse("active_parameters parameters", why, "write fewer")
    faults.raise_any()


def _check_experts(form: ModelForm, refuse: Callable[[str, str, str], None]) -> None:
    if form.experts is None:
        for key in OF_EXPERTS:
            if getattr(form, key) is not None:
                why = f"{key} without experts"
                refuse(f"{key} experts", why, f"add experts, or leave {key} out")
        return
    if form.experts_per_token is None:
        why = "experts without experts_per_token"
        way_out = "add experts_per_token: how many of them a token passes"
        refuse("experts experts_per_token", why, way_out)
    elif form.experts_per_token > form.experts:
        why = f"{form.experts_per_token} experts_per_token, of {form.experts} experts"
        refuse("experts_per_token experts", why, "write fewer")
    if form.dense_layers and form.layers and form.dense_layers > form.layers:
        why = f"{form.dense_layers} dense_layers, of {form.layers} layers"
        refuse("dense_layers layers", why, "write fewer")


def _fault(document: Document, keys: Sequence[str], why: str, way_out: str) -> InputError:
    """A fault of sizes that do not go together, at the first that stands in the file itself."""
    own = [key for key in keys if (key,) in document.marks]
    return ScenarioError(why, way_out, document.place(own[0] if own else keys[0]))
