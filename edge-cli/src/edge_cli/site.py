"""A site: the cluster that is installed on, with what it takes to read it and to change it."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
from edge_llm_tests.errors import UsageError
from edge_llm_tests.readers import Host, Target, live_target
from edge_llm_tests.readers.credentials import kubeconfig_path, load_kubeconfig
from edge_llm_tests.readers.target import known_clusters

from edge_cli.helm_program import find_helm
from edge_cli.installer import Installer
from edge_cli.progress import OnProgress
from edge_cli.sandbox import SANDBOX, built_helm, start_sandbox
from edge_cli.settings import environment_settings, load_settings
from edge_cli.supply import Supply

__all__ = ["Site", "cluster_site", "profile_name", "running_sandbox_site", "sandbox_site"]


class Site(msgspec.Struct, frozen=True):
    """Where to install.

    Attributes:
        target: How it is read.
        installer: How it is changed.
        kubeconfig: The user's way in.
        profile: The profile that the cluster implies; empty where the user must say.
    """

    target: Target
    installer: Installer
    kubeconfig: Path
    profile: str = ""


def cluster_site(
    kubeconfig: str | None,
    context: str | None,
    supply: Supply | None = None,
    hosts: Mapping[str, Host] | None = None,
) -> Site:
    """The cluster of a kubeconfig; without any, the sandbox if it runs.

    Args:
        kubeconfig: Path of a kubeconfig, None for the user's own.
        context: Context of it, None for its current one.
        supply: Where what is installed comes from; None where nothing is.
        hosts: Hosts to read in place of this one, by name.

    Raises:
        UsageError: There is no cluster to be found, or no helm.
    """
    path = _kubeconfig(kubeconfig)
    target = live_target(str(path), context, hosts=hosts)
    helm = find_helm(built_helm() if target.profile == SANDBOX else None)
    _, origin = load_kubeconfig(path, context)
    charts = supply.charts(helm) if supply else None
    return Site(target, Installer(origin, helm, path, context, charts), path, target.profile)


def _kubeconfig(given: str | None) -> Path:
    try:
        return kubeconfig_path(given)
    except UsageError:
        running = known_clusters()
        if len(running) != 1:
            raise
        return running[0].kubeconfig


def running_sandbox_site(supply: Supply | None = None) -> Site:
    """The sandbox that runs on this machine.

    Raises:
        UsageError: None does.
    """
    found = next((each for each in known_clusters() if each.name == SANDBOX), None)
    if found is None:
        raise UsageError("no sandbox is running", "start it with `edge up --sandbox`")
    return cluster_site(str(found.kubeconfig), None, supply)


def sandbox_site(tell: OnProgress, supply: Supply) -> Site:
    """The sandbox: what is missing of it is built, its node is started or found running.

    Raises:
        SandboxCommandError: It cannot be built or started here.
    """
    kubeconfig, helm = start_sandbox(tell, brought=supply.brought)
    _, origin = load_kubeconfig(kubeconfig, None)
    installer = Installer(origin, helm, kubeconfig, charts=supply.charts(helm))
    return Site(live_target(name=SANDBOX), installer, kubeconfig, SANDBOX)


def profile_name(flag: str | None, site: Site) -> str:
    """Flag, else $EDGE_PROFILE, else what the cluster implies, else the settings file.

    Raises:
        UsageError: Nothing names one.
    """
    name = flag or environment_settings().profile or site.profile or load_settings().profile
    if name is None:
        raise UsageError("no profile is given", "give --profile NAME (`edge profile list` names them)")
    return name
