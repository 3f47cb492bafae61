# Images of the two servers and the client. Targets: fem_server, mbs_server, client (see docs/guide/docker.md).
# A build that has to be repeatable names the base by digest: --build-arg HEELSTRIKE_BASE=debian@sha256:...
ARG HEELSTRIKE_BASE=debian:bookworm-slim
FROM ${HEELSTRIKE_BASE} AS builder
WORKDIR /src
# An image that is being built needs no protection of every unpacked file against a power cut: minutes instead of many.
RUN echo force-unsafe-io > /etc/dpkg/dpkg.cfg.d/unsafe-io
COPY scripts/setup scripts/packages.txt scripts/
RUN scripts/setup --group build --group grpc --group numerics --group files --group fem --group web && rm -rf /var/lib/apt/lists/*
COPY . .
# The packages of the shared libraries that the programs really load, for the runtime stage.
RUN cmake --preset release -DHEELSTRIKE_BUILD_TESTS=OFF -DHEELSTRIKE_PYTHON=OFF -DHEELSTRIKE_BUILD_BENCHMARKS=OFF \
 && scripts/build --unity heelstrike mbs_server fem_server heelstrike-mesher \
 && mkdir -p /out/bin /out/lib \
 && install --strip -t /out/bin build/release/bin/heelstrike build/release/bin/mbs_server build/release/bin/fem_server \
      build/release/bin/heelstrike-mesher \
 && install --strip -t /out/lib build/release/lib/libheelstrike_elements.so \
 && scripts/runtime-packages /out/bin/* /out/lib/* > /out/packages

FROM ${HEELSTRIKE_BASE} AS runtime
RUN echo force-unsafe-io > /etc/dpkg/dpkg.cfg.d/unsafe-io
COPY --from=builder /out/packages /usr/local/share/heelstrike/packages
# Debian's package of deal.II holds its debug build, too: 0.55 GB that no program loads.
RUN apt-get update -qq \
 && xargs -a /usr/local/share/heelstrike/packages apt-get install -y -qq --no-install-recommends \
 && apt-get clean && rm -rf /var/lib/apt/lists/* \
 && rm -f /usr/lib/*/libdeal.ii.g.so* \
 && find / -xdev -type f -perm /6000 -exec chmod a-s {} + \
 && useradd --system --uid 10001 --user-group --home-dir /var/lib/heelstrike --shell /usr/sbin/nologin heelstrike \
 && install -d -o heelstrike -g heelstrike -m 0700 /var/lib/heelstrike
COPY --from=builder /out/bin/ /usr/local/bin/
COPY --from=builder /out/lib/ /usr/local/lib/
COPY examples/ /usr/local/share/heelstrike/examples/
USER heelstrike
WORKDIR /var/lib/heelstrike
VOLUME /var/lib/heelstrike
# SIGTERM drains: no new work, what runs may finish.
STOPSIGNAL SIGTERM

FROM runtime AS fem_server
EXPOSE 50051
ENTRYPOINT ["fem_server"]
CMD ["--listen", "0.0.0.0:50051", "--cache-dir", "/var/lib/heelstrike/cache"]
HEALTHCHECK --interval=5s --timeout=10s --start-period=20s --retries=3 CMD ["heelstrike", "doctor", "--fem", "127.0.0.1:50051"]

FROM runtime AS mbs_server
EXPOSE 50052
ENTRYPOINT ["mbs_server"]
CMD ["--listen", "0.0.0.0:50052", "--fem", "fem_server:50051", "--spool", "/var/lib/heelstrike/spool"]
HEALTHCHECK --interval=5s --timeout=10s --start-period=20s --retries=3 CMD ["heelstrike", "doctor", "--mbs", "127.0.0.1:50052"]

FROM runtime AS client
ENTRYPOINT ["heelstrike"]
CMD ["--help"]
