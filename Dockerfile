# AX: one image for every role, chosen by --mode. make rootfs-proof shows this layout at work without Docker.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags='-s -w' -o /ax .

# Tasks are shell and Python, so the base has both; put what your own tasks need into an image FROM this one.
FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends bash ca-certificates python3-minimal \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin ax \
 && install -d -o ax -g ax -m 0700 /data
COPY --from=build /ax /usr/local/bin/ax
USER 10001:10001
ENV AX_DATA=/data AX_LISTEN=:8080 HOME=/data
# The only place that is written to: the root may be read-only (docker run --read-only --tmpfs /tmp).
VOLUME /data
EXPOSE 8080
# No HEALTHCHECK: what runs the container asks GET /healthz (alive) and GET /readyz (each role and store) itself.
ENTRYPOINT ["/usr/local/bin/ax"]
CMD ["--mode=all"]
