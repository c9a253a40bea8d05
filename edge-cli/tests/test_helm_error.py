"""What Helm says comes out as one line with the release and the next step."""

import pytest
from edge_cli.helm_error import helm_error, said
from edge_llm_tests.errors import ExitCode


@pytest.mark.parametrize(
    ("stderr", "code", "words"),
    [
        (
            'Error: Kubernetes cluster unreachable: Get "https://10.0.0.1:6443/version": connection refused',
            ExitCode.UNREACHABLE,
            "it goes on",
        ),
        (
            'Error: query: failed to query with labels: secrets is forbidden: User "u" cannot list resource',
            ExitCode.UNAUTHORISED,
            "--kubeconfig",
        ),
        (
            "Error: cluster unreachable: the server has asked for the client to provide credentials",
            ExitCode.UNAUTHORISED,
            "--kubeconfig",
        ),
        ("Error: Unauthorized", ExitCode.UNAUTHORISED, "--kubeconfig"),
        (
            "Error: values don't meet the specifications of the schema(s) in the chart(s):\ndemo:\n- at ''",
            ExitCode.USAGE,
            "`values.demo` of the profile",
        ),
        (
            "Error: UPGRADE FAILED: another operation (install/upgrade/rollback) is in progress",
            ExitCode.FAULT,
            "--recover",
        ),
        (
            'Error: Service "x" in namespace "n" exists and cannot be imported into the current release',
            ExitCode.FAULT,
            "something else made this object",
        ),
        (
            'Error: unable to build kubernetes objects: no matches for kind "PrometheusRule" in version "v1"',
            ExitCode.FAULT,
            "install what brings this kind first",
        ),
        (
            "Error: template: demo/templates/a.yaml:3: nil pointer",
            ExitCode.FAULT,
            "helm history demo -n space",
        ),
    ],
)
def test_names_the_release_and_the_next_step(stderr: str, code: ExitCode, words: str) -> None:
    error = helm_error("upgrade", "demo", "space", stderr)
    assert error.exit_code is code
    assert "release demo in namespace space" in error.message
    assert words in str(error)
    assert "\n" not in str(error)


def test_a_call_about_no_release_names_none() -> None:
    error = helm_error("list", "", "", "Error: boom")
    assert error.message == "helm list failed: boom"


def test_keeps_what_means_something() -> None:
    stderr = (
        "WARNING: Kubernetes configuration file is group-readable. This is insecure.\n"
        'level=WARN msg="warning: something"\n'
        "I1130 07:00:00.000000 1 warnings.go:110] deprecated\n"
        "Error: first\n  second\n"
    )
    assert said(stderr) == "first second"


def test_says_so_where_there_is_nothing() -> None:
    assert "it gave no reason" in helm_error("list", "", "", "\n").message


def test_is_cut_where_it_goes_on_for_ever() -> None:
    assert len(said("Error: " + "long " * 1000)) < 420


def test_what_helm_quotes_of_a_secret_is_covered() -> None:
    quoted = (
        'Error: Deployment.apps "x" is invalid: spec.template.spec.containers[0].env[0]: Invalid value: '
        '{"name":"OPENAI_API_KEY","value":"sk-aaaaaaaaaaaaaaaaaaaaaaaa"}: password=hunter2xyz '
        "postgres://u:s3cr3tpw@db/x\n"
    )
    error = helm_error("upgrade", "serving", "llm", quoted)
    assert "is invalid" in error.message
    for secret in ("sk-aaaa", "hunter2xyz", "s3cr3tpw"):
        assert secret not in error.message
