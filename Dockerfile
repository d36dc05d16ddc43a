# Environment for all studies and clusters, and the project in it; see docs/environments.md.
#   docker build --tag transformer-dynamics .
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/run/results" transformer-dynamics figures/fig6.pdf
FROM python:3.11-slim-bookworm

# The storage provider of profiles/kubernetes copies with rsync. Its version is that of the distribution.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends rsync && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/transformer-dynamics
COPY requirements-cluster.lock requirements-encoders.lock ./
RUN python -m pip install --no-cache-dir -r requirements-cluster.lock -r requirements-encoders.lock
COPY . .
RUN python -m pip install --no-cache-dir --no-deps --no-build-isolation -e .

# Any user may run it: what is cached goes to a folder that all may write.
ENV HOME=/tmp PYTHONDONTWRITEBYTECODE=1
WORKDIR /run/results
ENTRYPOINT ["snakemake", "--snakefile", "/opt/transformer-dynamics/Snakefile"]
CMD ["figures"]
