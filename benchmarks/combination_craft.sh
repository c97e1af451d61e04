#!/bin/bash
# The table of docs/combining.md: five systems on CRAFT, and their combinations.
# bash benchmarks/combination_craft.sh CRAFT FOLDER    (CRAFT: the corpus's folder, or a zip of it)
set -e
corpus=$(realpath "$1") folder=$2
mkdir -p "$folder"
cd "$folder"
binarize() { mbrparse binarize "craft:$corpus" --max-length 40 "${@:2}" -o "$1.mrg"; }
part() { mbrparse split "$1.mrg" --test-last 1500 --train-output "$1.train" --test-output "$1.held"; }
system() { # a grammar of the trees, its labelled-f parses of both parts
  [ -e "$1.held" ] || part "$1"
  mbrparse train "$1.train" "${@:3}" -o "$2.grammar"
  mbrparse parse plain.held -g "$2.grammar" --objective labelled-f --prune "${prune:-0}" -o "$2.parses"
  head -500 "$2.parses" > "$2.dev"
  tail -1000 "$2.parses" > "$2.test"
}
binarize plain
part plain
binarize left --direction left --hmarkov 2
binarize parent --vmarkov 2 --hmarkov 1
binarize parent-left --vmarkov 2 --hmarkov 2 --direction left
binarize head --head-rules collins --annotate parent
system left left
prune=0.0001 system parent parent
prune=0.0001 system parent-left parent-left
prune=0.0001 system head head
prune=0.0001 system parent words --terminals words
mbrparse debinarize plain.held -o gold.held
head -500 gold.held > gold.dev
tail -1000 gold.held > gold.test
tail -1000 plain.held > plain.last
mbrparse parse plain.last -g left.grammar --objective labelled-tree --debinarize --k-best 50 \
  --candidates candidates.tsv -o viterbi-left.test

tests=(left.test parent.test parent-left.test head.test words.test)
learnt=(--weights-from gold.dev --dev left.dev --dev parent.dev --dev parent-left.dev --dev head.dev \
  --dev words.dev)
mbrparse combine "${tests[@]}" --objective general-recall --node-cost .5 -o voting.out
mbrparse combine "${tests[@]}" --objective minimum-risk --risk labelled-f -o switching.out
mbrparse combine "${tests[@]}" --objective labelled-f -o votes-f.out
mbrparse combine "${tests[@]}" --objective labelled-f --pooled -o votes-pooled-f.out
mbrparse combine "${tests[@]}" --objective labelled-f "${learnt[@]}" -o weighted.out
mbrparse combine "${tests[@]}" --objective labelled-f "${learnt[@]}" --weights-by label -o weighted-labels.out
mbrparse combine --candidates candidates.tsv --objective labelled-f -o fusion.out
mbrparse evaluate gold.test "${tests[@]}" viterbi-left.test ./*.out --form original --criterion labelled-f \
  --criteria labelled-precision,labelled-recall,labelled-f --baseline parent-left
