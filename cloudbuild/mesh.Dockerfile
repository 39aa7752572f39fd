# The mesh on a real GPU. Build it with `substitutions: {_DOCKERFILE: mesh.Dockerfile}` and include
#   app/meshctl: package:meshctl
# The digest below is fictitious: replace it with the one of a CUDA build of llama-server you trust.
# A tag alone would let the next build change the engine without anybody having said so.
FROM ghcr.io/ggml-org/llama.cpp@sha256:1111111111111111111111111111111111111111111111111111111111111111
RUN apt-get update \
 && apt-get install --yes --no-install-recommends python3-venv \
 && python3 -m venv /opt/mesh \
 && /opt/mesh/bin/pip install --no-cache-dir 'pydantic>=2.12' 'pyyaml>=6.0.2' 'aiohttp>=3.12' 'uvloop>=0.21' \
 && rm -rf /var/lib/apt/lists/*
COPY app /app
COPY local/entrypoint /entrypoint
# The engine of that image lies in /app too; payloads are fetched or mounted under /models.
ENV PYTHONPATH=/app MESH_ENGINE_DIR=/app MESH_MODELS_DIR=/models \
    PATH=/opt/mesh/bin:/usr/local/bin:/usr/bin:/bin
ENTRYPOINT ["/entrypoint"]
