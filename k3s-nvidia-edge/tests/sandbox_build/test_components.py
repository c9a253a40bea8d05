import re

import pytest
from k3s_nvidia_edge.sandbox.build import versions
from k3s_nvidia_edge.sandbox.build.component import Component
from k3s_nvidia_edge.sandbox.build.components import BY_NAME, COMPONENTS, chosen
from k3s_nvidia_edge.sandbox.build.errors import UnknownComponentError
from k3s_nvidia_edge.sandbox.build.golang import group_directory
from k3s_nvidia_edge.sandbox.build.images import IMAGES
from k3s_nvidia_edge.sandbox.build.materials import MATERIALS
from k3s_nvidia_edge.sandbox.build.programs import PROGRAMS
from k3s_nvidia_edge.sandbox.build.recipes import EngineRecipe, GoRecipe, ImageRecipe, PypiRecipe

GO = [component for component in COMPONENTS if isinstance(component.recipe, GoRecipe)]
# Module in go.mod -> the version that is stated; Prometheus counts the releases of its module differently.
PINNED = {
    "kubernetes": {
        "k8s.io/kubernetes": versions.KUBERNETES,
        "github.com/rancher/local-path-provisioner": versions.LOCAL_PATH,
        "github.com/cloudnativelabs/kube-router/v2": versions.KUBE_ROUTER,
    },
    "platform": {
        "github.com/containerd/containerd/v2": versions.CONTAINERD,
        "github.com/k3s-io/kine": versions.KINE,
        "helm.sh/helm/v4": versions.HELM,
        "github.com/coredns/coredns": versions.COREDNS,
        "github.com/prometheus/prometheus": "0.316.0",
    },
    "alertmanager": {"github.com/prometheus/alertmanager": versions.ALERTMANAGER},
    "runc": {"github.com/opencontainers/runc": versions.RUNC},
    "cni": {"github.com/containernetworking/plugins": versions.CNI},
    "ollama": {"github.com/ollama/ollama": versions.OLLAMA},
    "prometheus-operator": {
        "github.com/prometheus-operator/prometheus-operator": versions.PROMETHEUS_OPERATOR
    },
    "node-exporter": {"github.com/prometheus/node_exporter": versions.NODE_EXPORTER},
}


def test_all_declared_components_are_built_once() -> None:
    assert sorted(BY_NAME) == sorted(component.name for component in (*PROGRAMS, *MATERIALS, *IMAGES))
    assert len(BY_NAME) == len(COMPONENTS)


def test_everything_a_component_is_made_of_comes_before_it() -> None:
    seen: set[str] = set()
    for component in COMPONENTS:
        assert seen.issuperset(component.inputs), component.name
        seen.add(component.name)


def test_kubernetes_comes_first_because_it_takes_longest() -> None:
    assert COMPONENTS[0].name == "kubernetes"


@pytest.mark.parametrize("component", GO, ids=lambda component: component.name)
def test_go_programs_are_called_as_declared(component: Component) -> None:
    assert isinstance(component.recipe, GoRecipe)
    own = component.recipe.group
    named = {own if package == "." else package.rpartition("/")[2] for package in component.recipe.packages}
    assert named == set(component.outputs)


@pytest.mark.parametrize(
    ("group", "module"), [(group, module) for group in PINNED for module in PINNED[group]]
)
def test_go_mod_pins_the_version_that_is_stated(group: str, module: str) -> None:
    text = (group_directory(group) / "go.mod").read_text(encoding="utf-8")
    found = re.search(rf"^(?:require )?\t?{re.escape(module)} v(\S+)", text, re.MULTILINE)
    assert found
    assert found.group(1) == PINNED[group][module]


@pytest.mark.parametrize("group", sorted(PINNED))
def test_go_sum_holds_what_go_mod_requires(group: str) -> None:
    directory = group_directory(group)
    required = re.findall(
        r"^\t(\S+) (v\S+)(?: // indirect)?$", (directory / "go.mod").read_text(encoding="utf-8"), re.MULTILINE
    )
    replaced = {
        name for name, _ in re.findall(r"^\t(\S+) => (\S+)", (directory / "go.mod").read_text(), re.MULTILINE)
    }
    sums = (directory / "go.sum").read_text(encoding="utf-8")
    assert required
    for module, version in required:
        if module not in replaced:
            assert f"{module} {version}/go.mod h1:" in sums


def test_every_kubernetes_library_is_replaced_by_the_release_of_its_kubernetes() -> None:
    text = (group_directory("kubernetes") / "go.mod").read_text(encoding="utf-8")
    replaced = re.findall(r"^\t(k8s\.io/\S+) => \1 v(\S+)$", text, re.MULTILINE)
    assert len(replaced) > 25
    assert {version for _, version in replaced} == {versions.KUBERNETES.replace("1.", "0.", 1)}


def test_programs_on_path_do_not_hide_each_other() -> None:
    names = [name for component in COMPONENTS if component.on_path for name in component.outputs]
    assert len(names) == len(set(names))


def test_images_have_different_names_and_a_host_part() -> None:
    refs = [component.recipe.ref for component in IMAGES if isinstance(component.recipe, ImageRecipe)]
    assert len(refs) == len(set(refs)) == len(IMAGES)
    for ref in refs:
        assert ref.startswith(("localhost/", "registry.k8s.io/", "rancher/"))


def test_images_run_as_somebody_else_than_root_but_for_the_device_plugin() -> None:
    as_root = {
        component.name
        for component in IMAGES
        if isinstance(component.recipe, ImageRecipe)
        and not re.fullmatch(r"\d+:\d+", component.recipe.config.user)
    }
    assert as_root == {"simulated-device-plugin-image"}


def test_downloads_are_pinned_by_hash() -> None:
    recipes = [component.recipe for component in COMPONENTS if isinstance(component.recipe, PypiRecipe)]
    assert recipes
    for recipe in recipes:
        assert re.fullmatch(r"[0-9a-f]{64}", recipe.sha256)


def test_engine_has_a_variant_for_old_processors() -> None:
    recipe = BY_NAME["ollama-engine"].recipe
    assert isinstance(recipe, EngineRecipe)
    assert {"x64", "haswell"} <= set(recipe.variants)


def test_a_choice_brings_what_it_is_made_of() -> None:
    assert [component.name for component in chosen(["pause-image"])] == ["pause", "pause-image"]


def test_what_only_tests_need_is_built_when_named() -> None:
    by_default = {component.name for component in chosen(None)}
    assert {component.name for component in COMPONENTS} - by_default == {
        "node-exporter",
        "prometheus-config-reloader-image",
        "prometheus-operator",
        "prometheus-operator-crds",
        "prometheus-operator-image",
    }
    assert [component.name for component in chosen(["prometheus-operator-image"])] == [
        "prometheus-operator",
        "prometheus-operator-image",
    ]
    for component in chosen(None):
        assert by_default.issuperset(component.inputs)


def test_an_unknown_name_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(UnknownComponentError, match=r"'kubernets'.*kubernetes"):
        chosen(["kubernets"])
