#!/bin/sh
# The strategies against each other: every one on every recorded space of a folder, and on made spaces that nothing was
# fitted to. One line a cell (score, standard error, best ÷ optimum, CPU a trial), then means.
#
# bench/replay_table.sh FOLDER [SEEDS [TRIALS [STRATEGIES]]]      (100 seeds, 200 trials, all strategies)
set -eu
folder=$1
seeds=${2:-100}
trials=${3:-200}
strategies=${4:-random,quasirandom,local,annealing,genetic,differential,swarm,tpe,model,gp,auto}
root=$(cd "$(dirname "$0")/.." && pwd)
bench="$root/build/release/bench/replay_bench --threads $(nproc) --seeds $seeds --trials $trials"
spaces=$(ls "$folder"/*.json.gz | grep -v _T4)
echo "recorded spaces"
# shellcheck disable=SC2086
$bench --strategies "$strategies" $spaces
echo "made spaces"
# shellcheck disable=SC2086
$bench --strategies "$strategies" synthetic:1 synthetic:2 synthetic:3 synthetic:4 synthetic:5 synthetic:6 \
  modelled:1 modelled:2 modelled:3 modelled:4
