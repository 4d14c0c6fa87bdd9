"""Follow topics in a stream of documents and show how their words change.

``TopicTracker`` takes texts with times; the other classes are scikit-learn estimators of rows of unit length, and
distributions on the sphere. ``datasets`` has rows with known classes, ``metrics`` scores, ``plot`` draws.

References
----------
Docstrings name their sources by these marks:

[AV07]    Arthur, Vassilvitskii: k-means++: the advantages of careful seeding. SODA 2007.
[BBG07]   Bijral, Breitenbach, Grudic: Mixture of Watson distributions. AISTATS 2007.
[BDGS05]  Banerjee, Dhillon, Ghosh, Sra: Clustering on the unit hypersphere using von Mises-Fisher distributions.
          Journal of Machine Learning Research 6, 2005.
[BG02]    Banerjee, Ghosh: Frequency sensitive competitive learning for clustering on high-dimensional hyperspheres.
          IJCNN 2002.
[BG04]    Banerjee, Ghosh: Frequency-sensitive competitive learning for scalable balanced clustering on
          high-dimensional hyperspheres. IEEE Transactions on Neural Networks 15, 2004.
[BJ06]    Blei, Jordan: Variational inference for Dirichlet process mixtures. Bayesian Analysis 1, 2006.
[DGK02]   Dhillon, Guan, Kogan: Iterative clustering of high dimensional text data augmented by local search. ICDM 2002.
[DM01]    Dhillon, Modha: Concept decompositions for large sparse text data using clustering. Machine Learning 42, 2001.
[DMR03]   Dhillon, Marcotte, Roshan: Diametrical clustering for identifying anti-correlated gene clusters.
          Bioinformatics 19, 2003.
[GY14]    Gopal, Yang: Von Mises-Fisher clustering models. ICML 2014.
[Li]      Li: Dirichlet-vMF mixture model. arXiv:1702.07495, 2017.
[MC2]     Nguyen, Phung, Nguyen, Venkatesh, Bui: Bayesian nonparametric multilevel clustering with group-level contexts.
          ICML 2014.
[MJ00]    Mardia, Jupp: Directional statistics. Wiley 2000.
[Mac92]   MacKay: The evidence framework applied to classification networks. Neural Computation 4, 1992.
[NH98]    Neal, Hinton: A view of the EM algorithm that justifies incremental, sparse, and other variants. Learning in
          Graphical Models, 1998.
[S12]     Sra: A short note on parameter approximation for von Mises-Fisher distributions. Computational Statistics 27,
          2012.
[SK13]    Sra, Karp: The multivariate Watson distribution. Journal of Multivariate Analysis 114, 2013.
[Sra]     Sra: Directional statistics in machine learning: a brief review. arXiv:1605.00316, 2016.
[T07]     Tanabe, Fukumizu, Oba, Takenouchi, Ishii: Parameter estimation for von Mises-Fisher distributions.
          Computational Statistics 22, 2007.
[U84]     Ulrich: Computer generation of distributions on the m-sphere. Applied Statistics 33, 1984.
[UN98]    Ueda, Nakano: Deterministic annealing EM algorithm. Neural Networks 11, 1998.
[W94]     Wood: Simulation of the von Mises Fisher distribution. Communications in Statistics - Simulation and
          Computation 23, 1994.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vmfstream.folders import keep_compiled_code

if TYPE_CHECKING:
    from vmfstream import datasets, metrics, plot
    from vmfstream.directional.angular_gaussian import AngularCentralGaussian
    from vmfstream.directional.cauchy import SphericalCauchy
    from vmfstream.directional.fisher_bingham import FisherBingham
    from vmfstream.directional.vmf import VonMisesFisher
    from vmfstream.directional.watson import Watson
    from vmfstream.estimators.admixture import DirichletVMFAdmixture
    from vmfstream.estimators.bayesian import BayesianVMFMixture
    from vmfstream.estimators.cauchy import SphericalCauchyMixture
    from vmfstream.estimators.chunked import chunked
    from vmfstream.estimators.dirichlet_process import DirichletProcessVMFMixture
    from vmfstream.estimators.hidden_markov import VMFHiddenMarkovModel
    from vmfstream.estimators.hierarchical import HierarchicalVMFMixture
    from vmfstream.estimators.kmeans import FrequencySensitiveKMeans, SphericalKMeans
    from vmfstream.estimators.mixtures import VMFMixture
    from vmfstream.estimators.multilevel import MultilevelClustering
    from vmfstream.estimators.online import OnlineVMFMixture
    from vmfstream.estimators.stories import StoryMixture
    from vmfstream.estimators.temporal import TemporalVMFMixture
    from vmfstream.estimators.watson import DiametricalKMeans, WatsonMixture
    from vmfstream.frozen.model import FrozenModel
    from vmfstream.topic_tracker.tracker import TopicTracker

__version__ = "0.1.0"

__all__ = [
    "AngularCentralGaussian",
    "BayesianVMFMixture",
    "DiametricalKMeans",
    "DirichletProcessVMFMixture",
    "DirichletVMFAdmixture",
    "FisherBingham",
    "FrequencySensitiveKMeans",
    "FrozenModel",
    "HierarchicalVMFMixture",
    "MultilevelClustering",
    "OnlineVMFMixture",
    "SphericalCauchy",
    "SphericalCauchyMixture",
    "SphericalKMeans",
    "StoryMixture",
    "TemporalVMFMixture",
    "TopicTracker",
    "VMFHiddenMarkovModel",
    "VMFMixture",
    "VonMisesFisher",
    "Watson",
    "WatsonMixture",
    "__version__",
    "chunked",
    "datasets",
    "metrics",
    "plot",
]

_HOMES = {
    "AngularCentralGaussian": "vmfstream.directional.angular_gaussian",
    "FisherBingham": "vmfstream.directional.fisher_bingham",
    "BayesianVMFMixture": "vmfstream.estimators.bayesian",
    "DiametricalKMeans": "vmfstream.estimators.watson",
    "DirichletProcessVMFMixture": "vmfstream.estimators.dirichlet_process",
    "DirichletVMFAdmixture": "vmfstream.estimators.admixture",
    "FrequencySensitiveKMeans": "vmfstream.estimators.kmeans",
    "FrozenModel": "vmfstream.frozen.model",
    "HierarchicalVMFMixture": "vmfstream.estimators.hierarchical",
    "MultilevelClustering": "vmfstream.estimators.multilevel",
    "OnlineVMFMixture": "vmfstream.estimators.online",
    "SphericalCauchy": "vmfstream.directional.cauchy",
    "SphericalKMeans": "vmfstream.estimators.kmeans",
    "StoryMixture": "vmfstream.estimators.stories",
    "TemporalVMFMixture": "vmfstream.estimators.temporal",
    "TopicTracker": "vmfstream.topic_tracker.tracker",
    "VMFHiddenMarkovModel": "vmfstream.estimators.hidden_markov",
    "VMFMixture": "vmfstream.estimators.mixtures",
    "VonMisesFisher": "vmfstream.directional.vmf",
    "Watson": "vmfstream.directional.watson",
    "WatsonMixture": "vmfstream.estimators.watson",
    "SphericalCauchyMixture": "vmfstream.estimators.cauchy",
    "chunked": "vmfstream.estimators.chunked",
}

_ALIASES = {"parted": "chunked"}
"""Old public names and the new ones; an old name works for one version, with a warning."""

_MODULES = ("datasets", "metrics", "plot")
"""Public modules, imported like the public names."""


keep_compiled_code(Path(__file__).parent)


def __getattr__(name: str) -> Any:
    """Import public names when they are first used, so that ``vmfstream --help`` answers at once."""
    if name in _ALIASES:
        warnings.warn(f"vmfstream.{name} is now vmfstream.{_ALIASES[name]}", DeprecationWarning, stacklevel=2)
        name = _ALIASES[name]
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"vmfstream.{name}")
    raise AttributeError(f"module 'vmfstream' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
