#!/bin/sh
# Puts the secrets that this service was given into the environment of its one process, and the instance's configuration into its
# DAGSTER_HOME, then becomes that process.
set -eu
secrets=${LUNGUAGE_SECRETS:-/run/secrets}

if [ -r "$secrets/services_env" ]; then
  number=0
  while IFS= read -r line || [ -n "$line" ]; do
    number=$((number + 1))
    name=${line%%=*}
    case $line in
      '' | '#'*) continue ;;
    esac
    case $name in
      "$line" | '' | [0-9]* | *[!A-Z0-9_]*)
        echo "services.env, line $number: expected NAME=value, with a name of capitals, digits and '_'" >&2
        exit 1
        ;;
    esac
    export "$name=${line#*=}"
  done <"$secrets/services_env"
fi

if [ -r "$secrets/postgres_password" ]; then
  PGPASSWORD=$(cat "$secrets/postgres_password")
  export PGPASSWORD
fi

if [ -r "$secrets/redis_password" ] && [ -n "${LUNGUAGE_BROKER:-}" ]; then
  LUNGUAGE_BROKER="${LUNGUAGE_BROKER%%://*}://:$(cat "$secrets/redis_password")@${LUNGUAGE_BROKER#*://}"
  export LUNGUAGE_BROKER
fi

# What is set to nothing is not set: boto takes an empty endpoint for an endpoint.
for name in LUNGUAGE_TABLES LUNGUAGE_LANDING LUNGUAGE_JUDGES LUNGUAGE_PRESET LUNGUAGE_STRUCTURER LUNGUAGE_BUDGET AWS_ENDPOINT_URL_S3 AWS_DEFAULT_REGION; do
  eval "value=\${$name-}"
  [ -n "$value" ] || unset "$name"
done

# Dagster writes beside its configuration, and the image is read-only.
if [ -n "${DAGSTER_HOME:-}" ] && [ ! -e "$DAGSTER_HOME/dagster.yaml" ]; then
  mkdir -p "$DAGSTER_HOME"
  cp "$(dirname "$0")/dagster.yaml" "$DAGSTER_HOME/dagster.yaml"
fi

exec "$@"
