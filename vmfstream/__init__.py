"""Follows topics in a stream of documents and shows how their words change."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vmfstream import datasets, metrics, plot
    from vmfstream.directional.vmf import VonMisesFisher
    from vmfstream.directional.watson import Watson
    from vmfstream.estimators.admixture import DirichletVMFAdmixture
    from vmfstream.estimators.bayesian import BayesianVMFMixture
    from vmfstream.estimators.dirichlet_process import DirichletProcessVMFMixture
    from vmfstream.estimators.hierarchical import HierarchicalVMFMixture
    from vmfstream.estimators.kmeans import FrequencySensitiveKMeans, SphericalKMeans
    from vmfstream.estimators.mixtures import VMFMixture
    from vmfstream.estimators.multilevel import MultilevelClustering
    from vmfstream.estimators.online import OnlineVMFMixture
    from vmfstream.estimators.parted import parted
    from vmfstream.estimators.temporal import TemporalVMFMixture
    from vmfstream.estimators.topics import TopicTracker
    from vmfstream.estimators.watson import DiametricalKMeans, WatsonMixture

__version__ = _version("vmfstream")

__all__ = [
    "BayesianVMFMixture",
    "DiametricalKMeans",
    "DirichletProcessVMFMixture",
    "DirichletVMFAdmixture",
    "FrequencySensitiveKMeans",
    "HierarchicalVMFMixture",
    "MultilevelClustering",
    "OnlineVMFMixture",
    "SphericalKMeans",
    "TemporalVMFMixture",
    "TopicTracker",
    "VMFMixture",
    "VonMisesFisher",
    "Watson",
    "WatsonMixture",
    "__version__",
    "datasets",
    "metrics",
    "parted",
    "plot",
]

_HOMES = {
    "BayesianVMFMixture": "vmfstream.estimators.bayesian",
    "DiametricalKMeans": "vmfstream.estimators.watson",
    "DirichletProcessVMFMixture": "vmfstream.estimators.dirichlet_process",
    "DirichletVMFAdmixture": "vmfstream.estimators.admixture",
    "FrequencySensitiveKMeans": "vmfstream.estimators.kmeans",
    "HierarchicalVMFMixture": "vmfstream.estimators.hierarchical",
    "MultilevelClustering": "vmfstream.estimators.multilevel",
    "OnlineVMFMixture": "vmfstream.estimators.online",
    "SphericalKMeans": "vmfstream.estimators.kmeans",
    "TemporalVMFMixture": "vmfstream.estimators.temporal",
    "TopicTracker": "vmfstream.estimators.topics",
    "VMFMixture": "vmfstream.estimators.mixtures",
    "VonMisesFisher": "vmfstream.directional.vmf",
    "Watson": "vmfstream.directional.watson",
    "WatsonMixture": "vmfstream.estimators.watson",
    "parted": "vmfstream.estimators.parted",
}

_MODULES = ("datasets", "metrics", "plot")
"""Public modules, imported like the public names."""


def __getattr__(name: str) -> Any:
    """Import public names when they are first used, so that ``vmfstream --help`` answers at once."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"vmfstream.{name}")
    raise AttributeError(f"module 'vmfstream' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
