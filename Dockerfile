# Operable with what it confines agents with, for a user without rights. Build: docker build -t operable .
#
# The container is the outer sandbox. Inside it bubblewrap needs user namespaces, which Docker's default profile refuses; then
# commands that ask for a sandbox say so and stop. To let each agent have one of its own:
#   docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined …
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE CHANGELOG.md ./
COPY src ./src
COPY docs/man ./docs/man
RUN python -m venv /opt/operable \
 && /opt/operable/bin/pip install --no-cache-dir "/src[agent,mcp,serve,engine]" \
 && /opt/operable/bin/python -m compileall -q /opt/operable/lib

FROM python:3.13-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends bubblewrap git tini \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 10001 operable \
 && install -d -o operable -g operable /work /home/operable/.operable
COPY --from=build /opt/operable /opt/operable
ENV PATH=/opt/operable/bin:$PATH OPERABLE_HOME=/home/operable/.operable
USER operable
WORKDIR /work
# Sessions, approvals and the audit chain: keep them in a volume to have them after the container.
VOLUME /home/operable/.operable
# A first process that forwards signals and collects what agents leave behind.
ENTRYPOINT ["tini", "--", "operable"]
CMD ["--help"]
