#!/bin/sh
# Brings a back-up back into an empty home and empty databases: restore.sh FOLDER. Nothing is overwritten; what is there already stops it.
set -eu
umask 077
source=$(cd "${1:?usage: restore.sh FOLDER}" && pwd)
home=${LUNGUAGE_HOME:?LUNGUAGE_HOME is not set}
database=${LUNGUAGE_DAGSTER_DATABASE:?LUNGUAGE_DAGSTER_DATABASE is not set}
ledger=${LUNGUAGE_LEDGER:-}

refuse() { echo "restore.sh: $1" >&2; exit 1; }
plain() { printf %s "$1" | sed 's/^postgresql+[a-z0-9]*:/postgresql:/'; }
require_empty() { # URL
  tables=$(psql --no-psqlrc --tuples-only --no-align --dbname="$(plain "$1")" \
    --command="SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'")
  [ "$tables" = 0 ] || refuse "the database $(plain "$1" | sed 's/.*@//') holds $tables tables; restore into an empty one"
}
load() { # URL FILE
  pg_restore --no-owner --no-privileges --exit-on-error --single-transaction --dbname="$(plain "$1")" "$source/$2"
}

[ -f "$source/SHA256SUMS" ] || refuse "$source is not a complete back-up: it has no SHA256SUMS"
(cd "$source" && sha256sum --check --strict --quiet SHA256SUMS) || refuse "$source is damaged"
mkdir -p "$home"
[ -z "$(ls -A "$home")" ] || refuse "$home is not empty"
require_empty "$database"
if [ -f "$source/ledger.dump" ]; then
  case $ledger in
    postgres*) require_empty "$ledger" ;;
    *) refuse "the back-up has a ledger of PostgreSQL; name its database in LUNGUAGE_LEDGER" ;;
  esac
fi

load "$database" dagster.dump
[ ! -f "$source/ledger.dump" ] || load "$ledger" ledger.dump
tar --extract --file="$source/home.tar" --directory="$home"
python -c 'import sys
from pathlib import Path
from lunguage_assets.home.home import Home
from lunguage_assets.home.table_place import load_tables, open_place
from lunguage_assets.orchestration.io_manager import build_catalog
root, saved, *place = sys.argv[1:]
home = Home(Path(root))
load_tables(home.root, Path(saved), open_place(place[0]) if place else None)
build_catalog(home.tables, home.database)' "$home" "$source/tables" ${LUNGUAGE_TABLES:+"$LUNGUAGE_TABLES"}
echo "restored from $source"
