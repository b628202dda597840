# The agent, for a device that is a container: it reaches the folders that are mounted. Build it from the top of the
# repository:
#   docker build -f deploy/docker/agent.Dockerfile -t orion-agent .
# Enrol it once, and run it:
#   docker run --rm -it -v orion-agent:/state orion-agent enroll TOKEN --allow-path /files
#   docker run -d -v orion-agent:/state -v ./files:/files orion-agent

FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --locked --profile dist -p orion-agent

FROM debian:bookworm-slim
COPY --from=build /src/target/dist/orion-agent /usr/bin/orion-agent
RUN useradd --system --uid 10002 --home-dir /state --shell /usr/sbin/nologin orion-agent \
    && install -d -o orion-agent -g orion-agent -m 0700 /state
USER 10002
ENV ORION_AGENT_STATE=/state/agent ORION_AGENT_CONFIG=/state/agent.toml
VOLUME /state
ENTRYPOINT ["/usr/bin/orion-agent"]
CMD ["run"]
