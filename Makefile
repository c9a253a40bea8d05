# Two commands: `make up` (a whole edge box with a SIMULATED card) and `make test` (everything CI runs).
# Both install what is missing, and say so. The rest is in `nox -l`.

.DEFAULT_GOAL := help
SHELL := /bin/sh
UV_VERSION := 0.13.9
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/edge
UV := $(CACHE)/tools/uv-$(UV_VERSION)/bin/uv
export UV_COMPILE_BYTECODE := 1
export PATH := $(dir $(UV)):$(PATH)
# An administrator's shell often forbids bytecode; without it every start of `edge` compiles again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help up test down clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' $(MAKEFILE_LIST) | expand -t 14

up: .venv/.synced ## install what is missing, build the sandbox, bring every layer up in it
	.venv/bin/edge up --sandbox --yes
	@command -v edge >/dev/null || printf '  # edge itself\n  export PATH=%s/.venv/bin:$$PATH\n' '$(CURDIR)'

down: .venv/.synced ## stop the sandbox and leave nothing behind
	.venv/bin/edge sandbox down

test: $(UV) .venv/.synced /usr/sbin/sshd ## every test that CI runs (needs root for the sandbox's part)
	.venv/bin/nox

clean: ## remove what this folder holds (the cache of built binaries stays)
	rm -rf .venv .nox dist

# Hosts by ssh are tested against a real server on loopback; the distribution's own is neither started nor enabled.
/usr/sbin/sshd:
	@[ "$$(id -u)" = 0 ] || { echo "error: sshd is missing; run: sudo apt-get install openssh-server" >&2; exit 2; }
	@echo "installing openssh-server with apt-get, for the tests of hosts by ssh; it is not started"
	@policy=/usr/sbin/policy-rc.d; made=; \
	  [ -e $$policy ] || { made=$$policy; printf '#!/bin/sh\nexit 101\n' > $$policy; chmod 755 $$policy; }; \
	  apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
	    openssh-server openssh-client; \
	  code=$$?; [ -z "$$made" ] || rm -f "$$made"; \
	  [ $$code = 0 ] && { systemctl --quiet disable ssh.service ssh.socket 2>/dev/null || true; } || exit $$code

.venv/.synced: $(UV) uv.lock pyproject.toml $(wildcard */pyproject.toml)
	$(UV) sync --frozen --all-packages --all-extras
	@.venv/bin/python -m compileall -q */src
	@touch $@

$(UV):
	@command -v python3 >/dev/null && python3 -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "installing python3 and python3-venv with apt-get"; \
	  if [ "$$(id -u)" = 0 ]; then apt-get update -q && apt-get install -q -y --no-install-recommends python3 python3-venv; \
	  else echo "error: python3 with venv is missing; run: sudo apt-get install python3-venv" >&2; exit 2; fi; }
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "error: Python 3.11 or newer is needed, this is $$(python3 --version)" >&2; exit 2; }
	@echo "installing uv $(UV_VERSION) into $(CACHE)/tools"
	@python3 -m venv $(CACHE)/tools/uv-$(UV_VERSION)
	@$(CACHE)/tools/uv-$(UV_VERSION)/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
