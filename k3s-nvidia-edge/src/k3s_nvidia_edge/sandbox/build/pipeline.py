"""The build: decides what is missing, fetches and compiles it, and hands over what others need.

Two things go on at a time: one thread fetches for the components to come, which waits for the network, while
the other compiles, which waits for the processor.
"""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import msgspec

from k3s_nvidia_edge.sandbox.build.artifacts import Artifacts, gather
from k3s_nvidia_edge.sandbox.build.cache import Cache, default_cache_dir
from k3s_nvidia_edge.sandbox.build.component import Component
from k3s_nvidia_edge.sandbox.build.components import COMPONENTS, chosen
from k3s_nvidia_edge.sandbox.build.errors import BuildError
from k3s_nvidia_edge.sandbox.build.golang import go_minimum
from k3s_nvidia_edge.sandbox.build.keys import keys
from k3s_nvidia_edge.sandbox.build.make import NETWORK_BOUND, fetch, make
from k3s_nvidia_edge.sandbox.build.prerequisites import FOR_BUILD, ensure
from k3s_nvidia_edge.sandbox.build.process import Processes
from k3s_nvidia_edge.sandbox.build.progress import OnBuildProgress, Reporter, silent
from k3s_nvidia_edge.sandbox.build.python_app import absent
from k3s_nvidia_edge.sandbox.build.recipes import (
    CRecipe,
    EngineRecipe,
    GoRecipe,
    ImageRecipe,
    ModuleFilesRecipe,
    PythonCodeRecipe,
    PythonDependenciesRecipe,
)
from k3s_nvidia_edge.sandbox.build.toolchain import Toolchain, python_tools, survey
from k3s_nvidia_edge.sandbox.build.workshop import Workshop

__all__ = ["Planned", "build", "plan"]

SPOKEN_IN_MINUTES_S: Final = 90
GO_CACHES_MIB: Final = 9_700  # what Go's module and build caches grow by, measured


class Planned(msgspec.Struct, frozen=True):
    """What a build would do about one component.

    Attributes:
        component: the component.
        cached: whether it is there already.
        estimated_seconds: what it takes on two cores with empty caches; 0 when cached.
        disk_mib: what its output takes or will take.
    """

    component: Component
    cached: bool
    estimated_seconds: int
    disk_mib: int


def plan(names: Iterable[str] | None = None, *, cache_dir: Path | None = None) -> tuple[Planned, ...]:
    """What a build of the named components (a sandbox's for None) would do, in order; changes nothing."""
    cache = Cache(cache_dir or default_cache_dir())
    components = _available(names)
    found = keys(components, _survey())
    return tuple(
        Planned(component, cached, 0 if cached else component.seconds, component.disk_mib)
        for component in components
        for cached in (cache.has(component.name, found[component.name]),)
    )


def build(
    names: Iterable[str] | None = None,
    on_progress: OnBuildProgress = silent,
    *,
    cache_dir: Path | None = None,
) -> Artifacts:
    """Build what is missing of the named components (those of a sandbox for None); where everything is.

    An interrupted build loses the components in the making and nothing else. With all cached this takes a
    fraction of a second and changes nothing.

    Raises:
        UnknownComponentError: a name is not a component's.
        PrerequisiteError: the operating system lacks something that cannot be installed from here.
        BuildBusyError: another build is at work.
        BuildError: something failed; it carries the command, its last words and the log.
    """
    cache = Cache(cache_dir or default_cache_dir())
    components = _available(names)
    toolchain = _survey()
    found = keys(components, toolchain)
    pending = _pending(components, found, cache)
    reporter = Reporter(on_progress, count=len(components), done=len(components) - len(pending))
    reporter.tell("plan", _summary(components, pending, cache))
    if pending:
        with cache.lock():
            processes = Processes()
            if _needs_system(pending) and ensure(
                FOR_BUILD,
                log=cache.logs / "prerequisites.log",
                say=lambda message: reporter.tell("install", message),
                processes=processes,
            ):
                toolchain = _survey()  # compilers' versions are part of the keys
                found = keys(components, toolchain)
            pending = _pending(components, found, cache)
            _check_disk(pending, cache)
            outputs = {name: cache.path(name, key) for name, key in found.items()}
            _make_all(pending, _Site(cache, toolchain, processes, outputs, found), reporter)
    outputs = {name: cache.path(name, key) for name, key in found.items()}
    for name, key in found.items():
        cache.used(name, key)
    return gather(components, outputs, cache)


class _Site(msgspec.Struct, frozen=True):
    """What all components of one build share."""

    cache: Cache
    toolchain: Toolchain
    processes: Processes
    outputs: Mapping[str, Path]
    keys: Mapping[str, str]


def _make_all(pending: Sequence[Component], site: _Site, reporter: Reporter) -> None:
    """Fetch in one thread, make in this one; whatever ends this ends the programs of both."""
    log = site.cache.logs / "tools.log"
    if site.toolchain.from_pypi:
        reporter.tell("install", f"installing from PyPI: {', '.join(site.toolchain.from_pypi)}")
    tools = python_tools(site.cache, site.toolchain.from_pypi, site.processes, log)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="fetch") as lane:
        fetched = {
            component.name: lane.submit(_fetch_one, component, site, tools, reporter) for component in pending
        }
        try:
            for component in pending:
                if not fetched[component.name].done():
                    reporter.tell("fetch", f"waiting for the downloads of {component.name}")
                fetched[component.name].result()
                if not isinstance(component.recipe, NETWORK_BOUND):
                    _make_one(component, site, tools, reporter)
        except BaseException:
            lane.shutdown(wait=False, cancel_futures=True)
            site.processes.end_all()
            raise


def _fetch_one(component: Component, site: _Site, tools: Path, reporter: Reporter) -> None:
    """Everything about a component that waits for the network."""
    if isinstance(component.recipe, NETWORK_BOUND):
        _make_one(component, site, tools, reporter)
        return
    try:
        fetch(component, _workshop(component, site, tools, reporter))
    except BuildError as error:
        raise error.of(component.name) from error


def _make_one(component: Component, site: _Site, tools: Path, reporter: Reporter) -> None:
    """A component, complete in the cache or not there at all."""
    reporter.start(
        component.name, f"{component.name} {component.version}: about {_duration(component.seconds)}"
    )
    try:
        with site.cache.staging(component.name, site.keys[component.name]) as out:
            make(component, _workshop(component, site, tools, reporter), out)
            _check_outputs(component, out)
    except BuildError as error:
        raise error.of(component.name) from error
    reporter.finish(component.name, f"{component.name} {component.version} is built")


def _check_outputs(component: Component, out: Path) -> None:
    lacking = [name for name in component.outputs if not (out / name).exists()]
    if lacking:
        raise BuildError(
            f"the build ended well and left no {', '.join(lacking)}",
            next_step="the component's declared outputs and its recipe disagree: correct the declaration",
        )


def _workshop(component: Component, site: _Site, tools: Path, reporter: Reporter) -> Workshop:
    return Workshop(
        cache=site.cache,
        toolchain=site.toolchain,
        tools=tools,
        processes=site.processes,
        outputs=site.outputs,
        log=site.cache.logs / f"{component.name}.log",
        say=lambda line: reporter.detail(component.name, line),
    )


def _available(names: Iterable[str] | None) -> tuple[Component, ...]:
    """The chosen components; by default without those made of packages that are not installed here."""
    components = chosen(names)
    without = {
        component.name: lacking
        for component in components
        if isinstance(component.recipe, PythonDependenciesRecipe | PythonCodeRecipe)
        and (lacking := absent(component.recipe.distributions))
    }
    if without and names is not None:
        unknown = sorted({name for names_of_one in without.values() for name in names_of_one})
        raise BuildError(
            f"{', '.join(unknown)} not installed in this Python environment",
            next_step=f"install it: pip install {' '.join(unknown)}",
            component=next(iter(without)),
        )
    return tuple(
        component
        for component in components
        if component.name not in without and not without.keys() & set(component.inputs)
    )


def _survey() -> Toolchain:
    """The tools, chosen for all components whatever is asked for: keys of a part and of the whole agree."""
    groups = {
        component.recipe.group
        for component in COMPONENTS
        if isinstance(component.recipe, GoRecipe | CRecipe | EngineRecipe | ModuleFilesRecipe)
    }
    return survey(go_minimum(groups))


def _pending(
    components: Sequence[Component], found: Mapping[str, str], cache: Cache
) -> tuple[Component, ...]:
    return tuple(
        component for component in components if not cache.has(component.name, found[component.name])
    )


def _needs_system(pending: Iterable[Component]) -> bool:
    """Whether something pending is made with the system's compilers or mmdebstrap."""
    return any(not isinstance(component.recipe, ImageRecipe | PythonCodeRecipe) for component in pending)


def _summary(components: Sequence[Component], pending: Sequence[Component], cache: Cache) -> str:
    if not pending:
        return f"all {len(components)} components are in {cache.outputs}"
    seconds = sum(component.seconds for component in pending)
    disk_mib = sum(component.disk_mib for component in pending)
    return (
        f"{len(pending)} of {len(components)} components to build, about {_duration(seconds)} on two cores "
        f"with empty caches and {disk_mib} MiB in {cache.outputs}"
    )


def _check_disk(pending: Sequence[Component], cache: Cache) -> None:
    needed_mib = sum(component.disk_mib for component in pending)
    if sum(component.seconds for component in pending if isinstance(component.recipe, GoRecipe)) > 0:
        needed_mib += GO_CACHES_MIB
    free_mib = shutil.disk_usage(cache.outputs).free >> 20
    if free_mib < needed_mib:
        raise BuildError(
            f"{cache.outputs} has {free_mib} MiB free and the build needs up to {needed_mib} MiB",
            next_step="free some space, or set XDG_CACHE_HOME to a directory with more",
        )


def _duration(seconds: int) -> str:
    return f"{seconds} s" if seconds < SPOKEN_IN_MINUTES_S else f"{round(seconds / 60)} min"
