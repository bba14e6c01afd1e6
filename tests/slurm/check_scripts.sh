#!/bin/bash
# check_scripts.sh SOURCE: what shellcheck says of the job scripts and of the scripts of this folder.
cd "$1" || exit 1
if ! command -v shellcheck > /dev/null; then
  echo "skipped: there is no shellcheck; scripts/setup --tests installs it"
  exit 77
fi
exec shellcheck --external-sources --source-path=. slurm/*.sh slurm/stage slurm/clear_caches \
  tests/support/fake_cluster tests/slurm/check_scripts.sh
