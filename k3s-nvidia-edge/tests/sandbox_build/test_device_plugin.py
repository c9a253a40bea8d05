import shutil
import subprocess
from pathlib import Path

from k3s_nvidia_edge.sandbox.build.cache import Cache, default_cache_dir
from k3s_nvidia_edge.sandbox.build.golang import go_minimum, group_directory
from k3s_nvidia_edge.sandbox.build.process import Processes
from k3s_nvidia_edge.sandbox.build.toolchain import go_environment, python_tools, survey


def test_the_plugin_passes_its_own_tests_against_a_kubelets_side_of_the_protocol(tmp_path: Path) -> None:
    tools = survey(go_minimum(["simulated-device-plugin"]))
    go = tools.programs.get("go") or str(
        python_tools(Cache(default_cache_dir()), tools.from_pypi, Processes(), tmp_path / "log") / "bin/go"
    )
    group = tmp_path / "plugin"
    shutil.copytree(group_directory("simulated-device-plugin"), group)
    done = subprocess.run(
        [go, "test", "-count=1", "."],
        cwd=group,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
        env=go_environment(),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("ok")
