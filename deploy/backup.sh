#!/bin/sh
# Writes one complete back-up into a new folder: backup.sh FOLDER. Stop daemon and workers first, so that nothing changes meanwhile.
# It holds report text: the folder is readable by its owner only.
set -eu
umask 077
target=${1:?usage: backup.sh FOLDER}
home=${LUNGUAGE_HOME:?LUNGUAGE_HOME is not set}
database=${LUNGUAGE_DAGSTER_DATABASE:?LUNGUAGE_DAGSTER_DATABASE is not set}
ledger=${LUNGUAGE_LEDGER:-}

mkdir "$target" || { echo "backup.sh: $target exists; name a new folder" >&2; exit 1; }

dump() { # URL FILE; libpq does not know SQLAlchemy's drivers
  pg_dump --format=custom --no-owner --no-privileges --file="$target/$2" --dbname="$(printf %s "$1" | sed 's/^postgresql+[a-z0-9]*:/postgresql:/')"
}

dump "$database" dagster.dump
case $ledger in
  postgres*) dump "$ledger" ledger.dump ;;
  '' | "$home"/*) ;; # a file in the home
  *) echo "backup.sh: the ledger $ledger is a file outside the home; copy it yourself, and run again with LUNGUAGE_LEDGER unset" >&2; exit 1 ;;
esac
tar --create --file="$target/home.tar" --directory="$home" --exclude=./tables --exclude=./lunguage.duckdb --exclude='.*.tmp' .
mkdir "$target/tables"
python -c 'import sys
from pathlib import Path
from lunguage_assets.home.table_place import copy_tables, tables_place
copy_tables(tables_place(Path(sys.argv[1])), Path(sys.argv[2]))' "$home" "$target/tables"

# Last: a back-up without this file is not complete.
cd "$target"
find . -type f ! -name .SHA256SUMS.tmp -print0 | LC_ALL=C sort -z | xargs -0 sha256sum >.SHA256SUMS.tmp
mv .SHA256SUMS.tmp SHA256SUMS
echo "back-up in $target: $(wc -l <SHA256SUMS) files"
