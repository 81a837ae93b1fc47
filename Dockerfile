# The images of the programs and of the handlers, for those who have Docker. `cargo xtask package`
# makes images of the same form without it, and Crossplane packages of them: docs/setup/packages.md.
#
#   docker build --target program --build-arg BIN=function-asya --build-arg STOP=SIGQUIT --tag function-asya .
#   docker build --target program --build-arg BIN=asya-sidecar --tag asya-sidecar .
#   docker build --target asya-rest-adapter --tag asya-rest-adapter .
#   docker build --target asya-end-actors --tag asya-end-actors .

FROM rust:1.95-bookworm AS build
ARG BIN
WORKDIR /asya
COPY . .
# With its C library inside, for the image has none.
RUN target="$(uname -m)-unknown-linux-gnu" \
 && RUSTFLAGS="-C target-feature=+crt-static" \
    cargo build --release --locked --target "$target" --package "$BIN" --bin "$BIN" \
 && install -D "target/$target/release/$BIN" /out/program

FROM scratch AS program
COPY --from=build /out/program /program
# For provider-asya and asya-sidecar; functions call nobody.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
EXPOSE 8080 9443
# Functions serve on while their pod leaves DNS if it is SIGQUIT.
ARG STOP=SIGTERM
STOPSIGNAL ${STOP}
USER 2000:2000
ENTRYPOINT ["/program"]

FROM python:3-slim AS asya-rest-adapter
WORKDIR /app
ENV PYTHONPATH=/app PYTHONDONTWRITEBYTECODE=1
COPY runtime/adapters/*.py adapters/
USER 2000:2000

FROM python:3-slim AS asya-end-actors
WORKDIR /app
ENV PYTHONPATH=/app PYTHONDONTWRITEBYTECODE=1
COPY runtime/end_actors/*.py end_actors/
USER 2000:2000
