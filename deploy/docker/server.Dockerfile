# The backend, with its page. Build it from the top of the repository:
#   docker build -f deploy/docker/server.Dockerfile -t orion-server .

FROM node:20-bookworm-slim AS page
WORKDIR /src
COPY server/web server/web
RUN npm ci --prefix server/web --ignore-scripts --no-audit --no-fund && npm run --prefix server/web build

FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY . .
COPY --from=page /src/server/web/dist server/web/dist
RUN cargo build --locked --release -p orion-server

FROM debian:bookworm-slim
COPY --from=build /src/target/release/orion-server /usr/bin/orion-server
RUN useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin orion \
    && install -d -o orion -g orion -m 0700 /data
USER 10001
ENV ORION_DATA_DIR=/data
VOLUME /data
EXPOSE 7080 7443
ENTRYPOINT ["/usr/bin/orion-server"]
CMD ["run"]
